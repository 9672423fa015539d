"""What import-linter does not check: imports inside functions, and files of one name."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import oddatom

PACKAGE = Path(oddatom.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
# Packages that a user need not install; what imports one may be imported where it is needed.
OPTIONAL = {
    "torch", "triton", "dask", "distributed", "pyarrow", "pandas", "matplotlib", "jinja2", "shtab", "onnx", "ndonnx",
    "onnxruntime", "pyod", "h5py", "pooch", "tqdm",
}  # fmt: skip


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree, *, inside):
    """Yield (module, name) of imports at the top of a file, or inside functions."""

    def visit(node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and function == inside:
                yield from ((child.module, alias.name) for alias in child.names)
            elif isinstance(child, ast.Import) and function == inside:
                yield from ((alias.name, None) for alias in child.names)
            yield from visit(child, function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    return visit(tree, False)


TREES = {module_of(path): ast.parse(path.read_text()) for path in FILES}


def targets(tree, *, inside):
    """Yield the modules that are imported: of `from package import module` that module."""
    for module, name in imported(tree, inside=inside):
        inner = f"{module}.{name}"
        yield inner if inner in TREES else module


@pytest.fixture(scope="module")
def needs_optional():
    """Modules that cannot be imported without an optional package, directly or through others."""
    above = {module: set(targets(tree, inside=False)) for module, tree in TREES.items()}
    found = {module for module, others in above.items() if {one.split(".")[0] for one in others} & OPTIONAL}
    while True:
        more = {module for module, others in above.items() if others & found} - found
        if not more:
            return found
        found |= more


def test_imports_inside_functions_are_of_optional_packages_or_lazy_public_names(needs_optional):
    wrong = []
    for module, tree in TREES.items():
        for target in targets(tree, inside=True):
            lazy_name = target == "oddatom"  # `from oddatom import save`
            if target.startswith("oddatom") and not lazy_name and target not in needs_optional:
                wrong.append(f"{module} imports {target} inside a function")
    assert not wrong


def test_the_core_needs_no_optional_package(needs_optional):
    core = ("oddatom.estimators", "oddatom.rows.array", "oddatom.rows.files.file_source", "oddatom.model_io.files")
    assert needs_optional.isdisjoint(core)
    assert {"oddatom.rows.device.tensor_source", "oddatom.rows.dask", "oddatom.table.encoder"} <= needs_optional


def test_files_of_one_name_say_that_they_are_one_thing():
    """A file's first line names the other by its folder: "Figure of `experiments/beta.py`"."""
    by_name = defaultdict(list)
    for path in FILES:
        if not path.name.startswith("__"):
            by_name[path.name].append(path)
    wrong = []
    for paths in by_name.values():
        said = {one: one.read_text().splitlines()[0] for one in paths}
        for one in paths if len(paths) > 1 else ():
            others = [f"`{two.parent.name}/{two.name}`" for two in paths if two != one]
            if not any(other in said[one] for other in others):
                wrong.append(f"{one.relative_to(PACKAGE)} has the name of {others}")
    assert not wrong


def test_the_checks_see_what_they_look_for():
    tree = ast.parse("def f():\n    from oddatom.rows import Source\n    import torch\nimport numpy\n")
    assert list(imported(tree, inside=True)) == [("oddatom.rows", "Source"), ("torch", None)]
    assert list(imported(tree, inside=False)) == [("numpy", None)]
    assert len(FILES) > 200
