"""What type checkers read is what the module has."""

import ast
import inspect
import pathlib

import gangsched
from gangsched import _core

PACKAGE = pathlib.Path(gangsched.__file__).parent


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_the_stub_has_every_name_of_the_module():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
    of_classes = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    classes = {node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)} for node in of_classes}
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    compared = 0
    for name, value in vars(_core).items():
        if inspect.isclass(value):
            missing = {member for member in vars(value) if not member.startswith("__")} - classes[name]
            assert not missing, (name, missing)
            compared += 1
        elif callable(value):
            assert name in functions
    assert compared >= 25


def test_everything_public_says_what_it_is():
    for name in gangsched.__all__:
        value = getattr(gangsched, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
    for name, member in vars(gangsched.Cluster).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            assert inspect.getdoc(member), name
