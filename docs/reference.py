"""The pages of the reference: every public name, on the page of its kind."""

from __future__ import annotations

import inspect
from typing import Any

import lanewise

# page: title, what it is about, and the names of `lanewise` on it. Names that are on no page are on
# the last, so a new one is never left out.
PAGES: dict[str, tuple[str, str, str]] = {
    "mapping": (
        "Mapping",
        "Functions of one example become functions of a batch.",
        "vmap vectorized_map map_fn vectorize py_func custom_vmap set_num_threads get_num_threads",
    ),
    "control-flow": (
        "Control flow by name",
        "For code that comes from elsewhere, and for functions without source: "
        "[`if`, `while` and `for`](../control-flow.md) need none of it.",
        "cond switch_case while_loop fori_loop scan TensorArray",
    ),
    "derivatives": (
        "Derivatives",
        "Of functions, and of code that is recorded: see [derivatives](../derivatives.md).",
        "grad value_and_grad vjp jvp linearize hvp jacobian jacrev jacfwd hessian GradientTape "
        "custom_gradient custom_jvp stop_gradient checkpoint check_gradients",
    ),
    "functions": (
        "Traced functions and state",
        "Trace once, call many times: see [traced functions](../function.md).",
        "function TensorSpec Feature Variable print save load",
    ),
    "inspection": (
        "Inspection",
        "What became of the code, and what it costs.",
        "explain profile Explanation Profile show_versions cache_info clear_cache",
    ),
    "errors": (
        "Error classes",
        "Each is shown with code that raises it and code that does not in [errors](../errors.md) "
        "and in the [index of messages](../error-index.md).",
        "ConcretizationError ControlFlowError DataDependentShapeError LeakedTensorError "
        "BakedInWarning LostWriteWarning RetracingWarning UnsupportedError CheckError FormatError "
        "InternalErrorWarning",
    ),
    "more": ("More", "What traced code is made of.", "Tensor"),
}
# Modules that are a page each.
MODULES = {"nn": "Layers, losses, optimisers", "random": "Random numbers"}


def reference() -> dict[str, str]:
    """Return the reference's pages: path to Markdown, with an entry for each public name."""
    modules = {name: title for name, title in MODULES.items() if name in lanewise.__all__}
    names = [name for name in lanewise.__all__ if not inspect.ismodule(getattr(lanewise, name))]
    listed = {name for _, _, row in PAGES.values() for name in row.split()}
    pages, index = {}, ["# Reference\n", "| | |", "| --- | --- |"]
    for page, (title, about, row) in PAGES.items():
        here = [name for name in row.split() if name in names]
        if page == "more":
            here += [name for name in names if name not in listed]
        index.append(f"| [{title}]({page}.md) | {_links(page, here, 'lanewise')} |")
        pages[page] = _page(title, about, [f"lanewise.{name}" for name in here])
    for module, title in modules.items():
        loaded, full = getattr(lanewise, module), f"lanewise.{module}"
        names = _public(loaded)
        methods = [name for name in names if inspect.ismethod(getattr(loaded, name))]
        here = [name for name in names if name not in methods]
        owner = f"{full}.{type(getattr(loaded, methods[0]).__self__).__name__}" if methods else ""
        about = f"In `lw.{module}`. {inspect.getdoc(loaded).partition(chr(10))[0]}"
        links = _links(module, here, full)
        if methods:
            own = _links(module, methods, owner)
            about += f" These are methods of the default generator: {own}."
            links += f"; {own}"
        index.append(f"| [{title}]({module}.md) | {links} |")
        pages[module] = _page(title, about, [f"{full}.{name}" for name in here], owner)
    index.append("\nEvery example of these pages is run by the tests.")
    pages["index"] = "\n".join(index)
    return {f"reference/{page}.md": text for page, text in pages.items()}


def _public(module: Any) -> list[str]:
    return sorted(getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]))


def _links(page: str, names: list[str], module: str) -> str:
    return ", ".join(f"[`{name}`]({page}.md#{module}.{name})" for name in names)


def _page(title: str, about: str, names: list[str], whole: str = "") -> str:
    """Return a page; the class `whole` is shown with what it inherits."""
    entries = [
        f"::: {name}" + "\n    options: {inherited_members: true}" * (name == whole)
        for name in names
    ]
    return "\n\n".join([f"# {title}", about, *entries]) + "\n"
