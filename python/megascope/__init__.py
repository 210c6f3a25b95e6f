"""MegaScope's hooks: a program tells its steps, regions, counters, parallel groups and tensors, and how its model trains.

    import megascope

    megascope.watch(model, optimizer)          # PyTorch: modules forward and backward, the optimizer
    for i, batch in enumerate(batches):
        with megascope.step(i):
            with megascope.region("load"):
                ...

Where libmegascope.so is not loaded nothing happens, at next to no cost. Needs nothing but Python: NumPy and PyTorch are used where
the program has them. docs/python.md shows how to put it into a program.
"""

from megascope import _silent
from megascope._silent import Scope
from megascope._table import hooks as _hooks
from megascope._watch_silent import Watch

if _hooks is None:
    from megascope._silent import (counter, group, groups, is_recording, last_error, mark, region, save, step, step_begin, step_end,
                                   tensor, wants_tensor)
    from megascope._watch_silent import watch
else:
    from megascope._tensors import tensor
    from megascope._told import (counter, group, groups, is_recording, last_error, mark, region, save, step, step_begin, step_end,
                                 wants_tensor)
    from megascope._watch import watch

__all__ = ["Scope", "Watch", "counter", "group", "groups", "is_recording", "last_error", "mark", "region", "save", "step", "step_begin",
           "step_end", "tensor", "wants_tensor", "watch"]
