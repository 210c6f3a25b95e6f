"""MegaScope's annotation API: steps, regions, counters, parallel groups and tensors, and automatic annotation of PyTorch models.

    import megascope

    megascope.watch(model, optimizer)          # PyTorch: forward and backward of modules, the optimizer
    for i, batch in enumerate(batches):
        with megascope.step(i):
            with megascope.region("load"):
                ...

Without libmegascope.so all functions are no-ops at negligible cost. There are no dependencies: NumPy and PyTorch are used only if the
application has imported them. docs/python.md is the manual.
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
    from megascope._annotations import (counter, group, groups, is_recording, last_error, mark, region, save, step, step_begin, step_end,
                                        wants_tensor)
    from megascope._tensors import tensor
    from megascope._watch import watch

__all__ = ["Scope", "Watch", "counter", "group", "groups", "is_recording", "last_error", "mark", "region", "save", "step", "step_begin",
           "step_end", "tensor", "wants_tensor", "watch"]
