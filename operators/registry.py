"""The operators by name, in the order the search applies them."""

from collections.abc import Mapping
from types import MappingProxyType

from operators.e1 import operator as e1
from operators.e2 import operator as e2
from operators.i1 import operator as i1
from operators.m1 import operator as m1
from operators.m2 import operator as m2
from operators.operator import Operator

OPERATORS: Mapping[str, Operator] = MappingProxyType({o.name: o for o in (i1, e1, e2, m1, m2)})
