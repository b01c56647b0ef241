"""What is known of library functions that no conversion follows: which have effects, which none.

Functions are named by module and qualified name, so that nothing has to be imported to know them.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from typing import Any

from lanewise.ir.location import is_own_file

#: What calls give that are made when the graph runs, by what it is: None; numbers; else an object.
NOTHING, FLOAT, INT, OBJECT = "nothing", "float", "int", "object"


def _named(kind: str, **modules: str) -> dict[str, str]:
    return {
        f"{module.replace('__', '.')}.{name}": kind
        for module, names in modules.items()
        for name in names.split()
    }


_LEVELS = "debug info warning warn error critical exception fatal log"
_LOGGER = f"{_LEVELS} handle setLevel addHandler removeHandler addFilter removeFilter"
_OS = (
    "mkdir makedirs remove unlink rmdir removedirs rename renames replace link symlink chmod chown "
    "utime truncate close fsync kill putenv unsetenv chdir _exit abort"
)
_STREAM = "writelines flush close __exit__"
_PATH = "touch mkdir unlink rmdir chmod symlink_to hardlink_to"

#: The effects that are followed: such a call happens for each example that gets there.
EFFECTS: dict[str, str] = {
    **_named(
        NOTHING,
        _warnings="warn warn_explicit",
        warnings="warn warn_explicit simplefilter filterwarnings resetwarnings showwarning",
        logging=f"{_LEVELS} disable captureWarnings basicConfig",
        logging__Logger=_LOGGER,
        logging__LoggerAdapter=_LOGGER,
        time="sleep",
        os=_OS,
        pathlib__Path=_PATH,
        shutil="rmtree",
        json="dump",
        marshal="dump",
        pickle="dump",
        _pickle="dump",
        _pickle__Pickler="dump",
        pprint="pprint pp",
        numpy="save savez savez_compressed savetxt",
        numpy__ndarray="tofile dump",
        _io___IOBase=_STREAM,
        _io__TextIOWrapper=_STREAM,
        _io__BufferedWriter=_STREAM,
        _io__BufferedRandom=_STREAM,
        _io__StringIO=_STREAM,
        _io__BytesIO=_STREAM,
        _io__FileIO=_STREAM,
        csv__DictWriter="writerows",
        _csv__writer="writerows",
        _csv__Writer="writerows",
        queue__Queue="put put_nowait",
        _queue__SimpleQueue="put put_nowait",
        threading__Event="set clear",
        sys="setrecursionlimit",
        builtins="print",
        faulthandler="dump_traceback",
        traceback="print_exc print_stack print_exception",
        atexit="register",
        gc="collect",
    ),
    **_named(FLOAT, time="time perf_counter monotonic process_time thread_time"),
    **_named(
        INT,
        time="time_ns perf_counter_ns monotonic_ns process_time_ns thread_time_ns",
        os="system",
    ),
    **_named(
        OBJECT,
        builtins="input",
        io="open StringIO BytesIO TextIOWrapper FileIO BufferedWriter",
        _io="open StringIO BytesIO TextIOWrapper FileIO BufferedWriter",
        _io__TextIOWrapper="write seek truncate",
        _io__BufferedWriter="write seek truncate",
        _io__BufferedRandom="write seek truncate",
        _io__StringIO="write seek truncate",
        _io__BytesIO="write seek truncate",
        _io__FileIO="write seek truncate",
        csv="DictWriter",
        csv__DictWriter="writerow writeheader",
        _csv="writer",
        _csv__writer="writerow",
        _csv__Writer="writerow",
        os="write popen startfile",
        pathlib__Path="write_text write_bytes rename replace open",
        shutil="copy copy2 copyfile copyfileobj copymode copystat copytree move",
        subprocess="run call check_call check_output Popen",
        contextlib="redirect_stdout redirect_stderr",
        tempfile="mkstemp mkdtemp NamedTemporaryFile TemporaryFile TemporaryDirectory",
    ),
}

#: Functions that write a text of their arguments, which holds data where those do.
TEXTS = frozenset(
    "json.dumps pprint.pformat pprint.saferepr reprlib.Repr.repr string.Template.substitute "
    "string.Template.safe_substitute textwrap.dedent textwrap.fill textwrap.indent "
    "textwrap.shorten html.escape html.unescape re.sub re.Pattern.sub re.escape".split()
)
#: Modules whose other functions read the characters of texts, or bytes.
_READING = frozenset(
    "ast base64 binascii codecs datetime decimal difflib fnmatch fractions glob hashlib hmac html "
    "json pprint re shlex string struct textwrap unicodedata urllib zlib".split()
)
#: Functions of other modules that do, or that read bytes.
_READING_BYTES = frozenset(
    "builtins.bytes.join builtins.bytearray.join builtins.int.from_bytes".split()
)

#: Packages whose functions and classes only compute, but for those among the effects.
_PURE = frozenset(
    "abc array base64 binascii bisect builtins calendar cmath codecs collections colorsys "
    "contextlib copy copyreg dataclasses datetime decimal difflib enum fractions functools "
    "genericpath graphlib hashlib heapq hmac inspect ipaddress itertools json keyword lanewise "
    "marshal math ntpath numbers numpy operator optree pathlib pickle posixpath pprint random re "
    "reprlib scipy statistics string struct textwrap token types typing unicodedata uuid weakref "
    "zlib zoneinfo".split()
)
#: Functions of other modules that only compute, or only ask.
_ASKING = frozenset(
    "logging.getLogger logging.getLevelName logging.LoggerAdapter logging.Logger.isEnabledFor "
    "logging.Logger.getEffectiveLevel logging.Logger.hasHandlers logging.Logger.getChild "
    "logging.LoggerAdapter.isEnabledFor logging.LoggerAdapter.getEffectiveLevel "
    "logging.LoggerAdapter.hasHandlers os.getenv os.getpid os.getcwd os.cpu_count os.fspath "
    "os.stat os.listdir os.scandir os.environ.get os._Environ.get os.fsencode os.fsdecode "
    "sys.getsizeof sys.exc_info sys.exception sys.getrecursionlimit sys.intern sys._getframe "
    "threading.get_ident threading.current_thread threading.Lock threading.RLock "
    "time.strftime time.gmtime time.localtime time.mktime warnings.catch_warnings "
    "traceback.format_exc traceback.format_exception "
    "warnings.catch_warnings.__enter__ warnings.catch_warnings.__exit__ "
    "gc.isenabled platform.system platform.machine".split()
)
_ALIASES = {"posix": "os", "nt": "os"}


def name_of(f: Any) -> str | None:
    """Return the module and qualified name of a library's function, class or method."""
    owner = getattr(f, "__self__", None)
    if owner is not None and not isinstance(owner, (ModuleType, type)):
        return _name_of_method(type(owner), f.__name__)
    if isinstance(owner, type):
        return f"{owner.__module__}.{owner.__qualname__}.{f.__name__}"
    module = getattr(f, "__module__", None)
    if module is None:
        kind = getattr(f, "__objclass__", None)
        return None if kind is None else _name_of_method(kind, f.__name__)
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if name is None:  # an object that is called
        return f"{type(f).__module__}.{type(f).__qualname__}"
    return f"{_package(module)}.{name}"


@cache
def _name_of_method(kind: type, name: str) -> str:
    """Return the qualified name of a method, by the class that defines it."""
    for base in kind.__mro__:
        if name in vars(base):
            return f"{_package(base.__module__)}.{base.__qualname__}.{name}"
    return f"{_package(kind.__module__)}.{kind.__qualname__}.{name}"


def _package(module: str) -> str:
    """Return the name of a module, or of the package of which it is a private part.

    The standard library moves its functions about (``pathlib._local``).
    """
    first, _, rest = module.partition(".")
    return first if rest.startswith("_") else _ALIASES.get(module, module)


@cache
def is_reading(name: str) -> bool:
    """Whether a library's function reads the characters of texts, or bytes."""
    return name in _READING_BYTES or name.partition(".")[0].removeprefix("_") in _READING


@cache
def is_numeric(name: str) -> bool:
    """Whether a library's function may compute with the numbers that lie in the memory of arrays.

    Python's library keeps arrays, and hands them on; NumPy's functions ask them what to do.
    """
    root = name.partition(".")[0]
    return root not in sys.stdlib_module_names and root not in _HANDING_ON


_HANDING_ON = frozenset(("lanewise", "numpy", "optree"))


@cache
def is_pure(name: str) -> bool:
    """Whether a library's function that has none of the effects is known to have no other."""
    root = name.partition(".")[0]
    return root in _PURE or root.removeprefix("_") in _PURE or name in _ASKING or "os.path" in name


@cache
def is_library(module: str) -> bool:
    """Whether a module is not followed: of the standard library, or compiled."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module in sys.builtin_module_names
    return is_own_file(file) or not file.endswith(".py")
