"""What is normal for a row's group and for its time: numbers in, numbers out.

Groups set their own level and scale (`groups`). Rows in the order of their times (`ordered`) get views of every number
from the rows before it (`views`, `usual_hours`), and are odd by themselves or as part of an odd stretch (`stretch`).
`row_features` puts these together, and `following` keeps the last rows.
"""

from oddatom.context.ordered import LastRows, Ordered
from oddatom.context.row_features import ContextRules, learn_context

__all__ = ["ContextRules", "LastRows", "Ordered", "learn_context"]
