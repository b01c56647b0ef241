"""What `mkdocs build` does beside laying out the pages of this folder.

The first page is the README and the reference has every public name, so neither can be out of date.
Links of pages to files outside of this folder lead to copies of these. After the build every link
of every page is followed, and nothing may be loaded from elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs")]
from reference import reference  # noqa: E402  (a neighbour, which needs the path)

# What pages of the root are called here.
RENAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the files outside of this folder that pages link to."""
    made = reference()
    for path, name in RENAMED.items():
        made[name] = (ROOT / path).read_text(encoding="utf-8")
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for page in (*RENAMED, *(f"docs/{file.src_uri}" for file in files.documentation_pages())):
        source = ROOT / page
        if source.exists():
            for _, target in _links_out(source.read_text(encoding="utf-8"), source.parent):
                name = _copied(target)
                if target.is_file() and name not in files.src_uris:
                    files.append(File.generated(config, name, abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links out of this folder lead to the copies; those to folders are plain text."""
    renamed = {name: path for path, name in RENAMED.items()}
    source = ROOT / renamed.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    for link, target in _links_out(markdown, source.parent):
        if target.is_file():
            up = "../" * page.file.src_uri.count("/")
            markdown = markdown.replace(f"]({link}", f"]({up}{_copied(target)}")
        else:
            markdown = re.sub(rf"\[([^\]]*)\]\({re.escape(link)}\)", r"\1", markdown)
    return markdown


def _links_out(markdown: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the links of a page that leave docs/, or come into it from outside, and their files."""
    seen = set()
    for link in re.findall(r"\]\(([^)#\s]+)", markdown):
        target = (folder / link).resolve()
        inside = target.is_relative_to(ROOT / "docs")
        if "://" in link or link in seen or not target.exists():
            continue
        seen.add(link)
        if inside != folder.is_relative_to(ROOT / "docs") or not inside:
            yield link, target


def _copied(target: Path) -> str:
    path = target.relative_to(ROOT).as_posix()
    return RENAMED.get(path) or path.removeprefix("docs/")


class _Links(HTMLParser):
    """The places of a page that can be linked to, what it links to, and what it loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        for name in ("src", "data", "href"):
            if name in found and tag != "a":
                is_link = tag == "link" and found.get("rel") in ("canonical", "next", "prev")
                (self.links if is_link else self.loads).append(found[name])


def on_post_build(config: Any, **_: Any) -> None:
    """Refuse a site with a link that leads nowhere, or that loads something from elsewhere."""
    site = Path(config["site_dir"])
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    # What a page that is opened as a file reads, as it may read no JSON.
    (site / "search" / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
    pages = {path: _Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are for a server's root
            continue
        for url in [*page.links, *page.loads]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in page.loads and parts.scheme != "data":
                    faults.append(f"{path.relative_to(site)} loads {url}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            known = pages[target].ids if target in pages else set()
            if not target.exists() or (anchor and anchor not in known):
                faults.append(f"{path.relative_to(site)} links to {url}")
    if faults:
        raise PluginError("\n".join(["links that lead nowhere:", *sorted(set(faults))]))
