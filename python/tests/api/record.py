"""Prints the public names of TensorFlow 1.15, one a line, with the arguments of functions and constructors.

usage: PYTHON record.py                  a Python (3.7) with TensorFlow 1.15
       PYTHON record.py GOLDEN-FOLDER    tensorflow/tools/api/golden/v1 of TensorFlow's repository; without tf.contrib

A line is `name(arguments)`, `name` for a value or a class without arguments of its own, `name/` for a module.
Defaults that are objects are `...`.
"""

import ast
import inspect
import os
import re
import sys

# Parts of tf.contrib that programs use; the whole is twice the rest of TensorFlow.
CONTRIB = (
    "cluster_resolver", "data", "eager", "framework", "image", "layers", "learn", "losses", "metrics", "opt", "rnn",
    "seq2seq", "slim", "summary", "tpu", "training",
)  # fmt: skip
# What no program writes, and tf.raw_ops, whose list is that of the ops.
_SKIPPED = ("compat", "python", "core", "tools", "contrib", "raw_ops", "pywrap_tensorflow", "app.flags")


def text_of_default(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        inner = ", ".join(text_of_default(v) for v in value)
        return "[" + inner + "]" if isinstance(value, list) else "(" + inner + ("," if len(value) == 1 else "") + ")"
    if type(value).__name__ == "DType":
        return repr(value.name)
    return "..."


def text_of(arguments, varargs, keywords, defaults, only=()):
    """The text between the parentheses; defaults are texts, of the last arguments."""
    without = len(arguments) - len(defaults)
    parts = [a if i < without else a + "=" + defaults[i - without] for i, a in enumerate(arguments)]
    if varargs or only:
        parts.append("*" + (varargs or ""))
    parts += [name + "=" + default for name, default in only]
    if keywords:
        parts.append("**" + keywords)
    return ", ".join(parts)


def signature(value):
    """The arguments of a function or of a constructor; None where there are none to see."""
    from tensorflow.python.util import tf_inspect

    own = value
    if inspect.isclass(value):
        own = getattr(value, "__init__", None)
        if own is object.__init__ or not inspect.isroutine(own) or inspect.ismethoddescriptor(own):
            return None
    try:
        spec = tf_inspect.getfullargspec(own)
    except TypeError:
        return None
    arguments = list(spec.args)
    if inspect.isclass(value) and arguments and arguments[0] in ("self", "_cls"):
        arguments = arguments[1:]
    if not inspect.isclass(value) and arguments[:1] == ["self"]:
        arguments = arguments[1:]
    defaults = [text_of_default(d) for d in spec.defaults or ()]
    only = [(a, text_of_default((spec.kwonlydefaults or {}).get(a))) for a in spec.kwonlyargs]
    return text_of(arguments, spec.varargs, spec.varkw, defaults, only)


def walk(module, prefix, seen, lines):
    for name in sorted(n for n in dir(module) if not n.startswith("_")):
        full = prefix + name
        try:
            value = getattr(module, name)
        except Exception:
            continue
        if inspect.ismodule(value):
            skipped = full in _SKIPPED or name in ("v1", "v2")
            if skipped or id(value) in seen or "tensorflow" not in value.__name__ or "google" in value.__name__:
                continue
            lines.append(full + "/")
            walk(value, full + ".", seen | {id(value)}, lines)
        elif callable(value):
            arguments = signature(value)
            lines.append(full if arguments is None else full + "(" + arguments + ")")
        elif not name.startswith("division") and name not in ("absolute_import", "print_function"):
            lines.append(full)


def of_package():
    import tensorflow as tf

    lines = []
    walk(tf, "", {id(tf)}, lines)
    import tensorflow.contrib as contrib

    lines.append("contrib/")
    for name in CONTRIB:
        value = getattr(contrib, name, None)
        if value is not None:
            lines.append("contrib." + name + "/")
            public = type(value)(value.__name__)  # its own functions alone, without the modules that it imports
            for key in dir(value):
                if not inspect.ismodule(getattr(value, key)) and not key.startswith("_"):
                    setattr(public, key, getattr(value, key))
            walk(public, "contrib." + name + ".", {id(value)}, lines)
    return lines


def of_argspec(text):
    """The arguments of an argspec of a golden file, with the defaults that its texts show."""
    match = re.match(r"args=(\[.*?\]), varargs=(\w+), keywords=(\w+), defaults=(.*?),? *$", text)
    arguments = ast.literal_eval(match.group(1))
    defaults = ast.literal_eval(match.group(4)) or []
    plain = []
    for default in defaults:
        dtype = re.match(r"<dtype: '(\w+)'>$", default)
        try:
            plain.append(repr(dtype.group(1) if dtype else ast.literal_eval(default)))
        except (ValueError, SyntaxError):
            plain.append("..." if default.startswith("<") else repr(default))
    varargs, keywords = (None if match.group(i) == "None" else match.group(i) for i in (2, 3))
    arguments = arguments[1:] if arguments[:1] == ["self"] else arguments
    return text_of(arguments, varargs, keywords, plain)


def _unescaped(text):
    return re.sub(r"\\(.)", r"\1", text)


def of_golden(folder):
    lines = []
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file)) as stream:
            text = stream.read()
        path = re.match(r'path: "tensorflow\.?([^"]*)"', text)
        if not path or path.group(1).startswith(("compat", "raw_ops", "_")):
            continue
        name = path.group(1)
        if "tf_class {" in text:
            spec = re.search(r'name: "__init__"\s+argspec: "(.*)"', text)
            lines.append(name + ("(" + of_argspec(_unescaped(spec.group(1))) + ")" if spec else ""))
        elif "tf_module {" in text:
            prefix = name + "." if name else ""
            lines += [name + "/"] if name else []
            for method, spec in re.findall(r'member_method \{\s+name: "(\w+)"\s+argspec: "(.*)"', text):
                lines.append(prefix + method + "(" + of_argspec(_unescaped(spec)) + ")")
            for member, kind in re.findall(r'member \{\s+name: "(\w+)"\s+mtype: "(.*)"', text):
                if "module" not in kind and "type" not in kind:
                    lines.append(prefix + member)
        else:
            lines.append(name)
    return lines


if __name__ == "__main__":
    found = of_golden(sys.argv[1]) if len(sys.argv) > 1 else of_package()
    print("\n".join(sorted(set(found))))
