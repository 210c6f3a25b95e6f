"""`megascope.watch`: what is told of a PyTorch model, and that the model does not notice.

  watch_test.py MEGASCOPE
"""

from case import Case
from model_case import MODEL, OfModel, main_with_torch

FORWARD = ["forward", "forward/token"] + [f"forward/h.{i}{inner}" for i in range(2)
                                          for inner in ("", f"/h.{i}.norm", f"/h.{i}.up", f"/h.{i}.act", f"/h.{i}.down")] + ["forward/head"]
BLOCK_BACK = ["", "/h.{0}.down backward", "/h.{0}.act backward", "/h.{0}.norm backward"]  # `up` goes into `act`, which changes its result
BACKWARD = (["backward", "backward/head backward"] + [("backward/h.{0} backward" + inner).format(i) for i in (1, 0) for inner in BLOCK_BACK]
            + ["backward/token backward"])


class Watch(OfModel):
    def test_modules_forward_and_backward_and_the_optimizer(self):
        self.record("""
            megascope.watch(net, optimizer)
            for i in range(2):
                with megascope.step(i):
                    optimizer.zero_grad()
                    loss_of(net).backward()
                    optimizer.step()
            """)
        self.assertEqual(self.nested(), 2 * (["step"] + ["step/" + path for path in FORWARD + BACKWARD + ["optimizer"]]))
        layers = {event["name"]: event.get("args", {}).get("layer") for event in self.events() if event["ph"] == "X"}
        self.assertEqual({layers[name] for name in layers if "h.1" in name}, {1})
        self.assertEqual({layers[name] for name in layers if "h." not in name}, {None})
        self.assertEqual(self.losses(), {})

    def test_names_depth_and_forward_alone(self):
        self.record("""
            megascope.watch(net, [optimizer], name="gpt", depth=2, backward=False)
            loss_of(net).backward()
            optimizer.step()
            """)
        self.assertEqual(self.nested(), ["gpt forward"] + [f"gpt forward/gpt.{name}" for name in ("token", "h.0", "h.1", "head")]
                         + ["gpt optimizer"])

    def test_the_model_computes_the_same(self):
        script = MODEL + self.plain("""
            from torch.utils.checkpoint import checkpoint
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            megascope.watch(net, optimizer)
            later = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
            seen = []
            def listen(y):
                if y.requires_grad:
                    y.register_hook(lambda g: seen.append(g.sum().item()))
            for i in range(6):
                with megascope.step(i):
                    optimizer.zero_grad()
                    hooked = net.h[0].act.register_forward_hook(lambda module, given, y: listen(y))
                    how = [{}, {"wrap": lambda b, x: checkpoint(b, x)}, {"wrap": lambda b, x: checkpoint(b, x, use_reentrant=False)}][i % 3]
                    loss = loss_of(net, **how)
                    loss.backward()
                    hooked.remove()
                    nn.utils.clip_grad_norm_(net.parameters(), 0.1)
                    optimizer.step(), schedule.step(), later.step()
                    print(loss.item().hex())
            print(digest(net), seen)
            """)
        bare = self.bare(script)
        self.assertEqual(self.bare(script), bare)
        self.assertIn("[", bare)
        self.assertNotIn("[]", bare)
        for settings in ({}, {"MEGASCOPE_TENSORS": "*", "MEGASCOPE_TRACE": "full"}):
            self.run_directory += "+"
            self.assertEqual(Case.record(self, script, **settings), bare)
            self.assertEqual(self.losses(), {})
            counts = self.counts()
            # Two of six steps compute everything once, the others each block again in the backward pass.
            self.assertEqual((counts["forward"], counts["backward"], counts["optimizer"], counts["h.0"]), (6, 6, 6, 10))

    def test_checkpointed_blocks_are_computed_inside_of_the_backward_pass(self):
        self.record("""
            from torch.utils.checkpoint import checkpoint
            megascope.watch(net)
            loss_of(net, wrap=lambda b, x: checkpoint(b, x)).backward()
            """)
        paths = self.nested()
        again = paths[paths.index("backward"):]
        for i in (0, 1):
            (found,) = [path for path in again if path.endswith(f"/h.{i}")]
            self.assertTrue(found.startswith("backward/"), found)
            self.assertIn(f"{found}/h.{i}.norm", again)
            self.assertTrue([path for path in again if path.startswith("backward/") and path.endswith(f"/h.{i}.down backward")])
        self.assertEqual(paths.count("backward"), 1)
        self.assertEqual(self.losses(), {})

    def test_a_module_used_twice_and_a_backward_pass_twice(self):
        self.record("""
            class Twice(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.same = nn.Linear(4, 4)
                    self.alias = self.same
                def forward(self, x):
                    return self.same(self.alias(x).tanh())
            twice = Twice()
            megascope.watch(twice)
            loss = twice(torch.ones(2, 4, requires_grad=True)).sum()
            loss.backward(retain_graph=True)
            loss.backward()
            """)
        once = ["backward", "backward/same backward", "backward/same backward"]
        self.assertEqual(self.nested(), ["forward", "forward/same", "forward/same"] + 2 * once)
        self.assertEqual(self.losses(), {})

    def test_modules_that_call_themselves_or_modules_of_others(self):
        self.record("""
            class Tree(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.leaf = nn.Linear(2, 2)
                def forward(self, x, depth):
                    return self.leaf(x) if depth == 0 else self(x, depth=depth - 1) + self(x, depth - 1)
            class Caller(nn.Module):
                def __init__(self, other):
                    super().__init__()
                    object.__setattr__(self, "other", other)
                    self.own = nn.Linear(2, 2)
                def forward(self, x):
                    return self.own(self.other.leaf(x))
            tree = Tree()
            caller = Caller(tree)
            megascope.watch(tree), megascope.watch(caller, name="caller")
            tree(torch.ones(1, 2), 2)
            caller(torch.ones(1, 2))
            scripted = torch.jit.script(caller.own)
            scripted(torch.ones(1, 2))
            """)
        inner = "forward/forward/forward"
        half = ["forward/forward", inner, f"{inner}/leaf", inner, f"{inner}/leaf"]
        self.assertEqual(self.nested(), ["forward", *half, *half, "caller forward", "caller forward/leaf", "caller forward/caller.own"])
        self.assertEqual(self.losses(), {})

    def test_exceptions_forward(self):
        self.record("""
            class Tries(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bad, self.good = nn.Sequential(Block(8)), Block(8)
                    self.bad[0].fails = True
                def forward(self, x):
                    try:
                        return self.bad(x)
                    except ValueError:
                        return self.good(x)
            tries = Tries()
            megascope.watch(tries)
            tries(torch.ones(1, 8))
            tries.good.fails = True
            for _ in range(3):                       # nothing around it
                try: tries(torch.ones(1, 8))
                except ValueError: pass
            for i in range(2):                       # regions and steps around it
                with megascope.step(i):
                    try:
                        with megascope.region("train"):
                            tries(torch.ones(1, 8))
                    except ValueError: pass
                    with megascope.region("after"): pass
            megascope.step_begin(2)
            try: tries(torch.ones(1, 8))
            except ValueError: pass
            megascope.step_end()
            """)
        failed = ["forward", "forward/bad", "forward/bad/bad.0", "forward/good"]
        good = [f"forward/good/good.{name}" for name in ("norm", "up", "act", "down")]
        within = lambda around: [f"{around}/{path}" for path in failed]  # noqa: E731
        self.assertEqual(self.nested(), failed + good + 3 * failed + 2 * ["step", "step/train", *within("step/train"), "step/after"]
                         + ["step", *within("step")])
        self.assertEqual(self.losses(), {})

    def test_exceptions_backward(self):
        self.record("""
            megascope.watch(net, optimizer)
            def fail(gradient): raise ValueError
            for i in range(2):
                loss = loss_of(net, wrap=lambda b, x: (b(x), x.register_hook(fail))[0])
                try: loss.backward()
                except ValueError: pass
            with megascope.step(0):
                loss_of(net).backward()
            class Broken(torch.optim.SGD):
                def step(self, closure=None): raise ValueError
            broken = Broken(net.parameters(), lr=1)
            megascope.watch(net, broken)
            try: broken.step()
            except ValueError: pass
            with megascope.region("after"): pass
            """)
        paths = self.nested()
        self.assertEqual(paths[paths.index("step"):], ["step"] + [f"step/{path}" for path in FORWARD + BACKWARD] + ["optimizer", "after"])
        self.assertEqual([paths.count("forward"), paths.count("backward")], [2, 2])
        self.assertEqual(self.losses(), {})

    def test_the_model_stays_as_it_is(self):
        self.assertEqual(self.record("""
            import copy, pickle
            before = {key: set(vars(module)) for key, module in net.named_modules()}
            watch = megascope.watch(net, optimizer)
            loss = loss_of(net)
            y = net.h[0](torch.ones(1, 8))
            print(y._backward_hooks, [module._forward_hooks for module in net.modules() if module._forward_hooks or module._forward_pre_hooks])
            torch.save(net, io.BytesIO()), torch.save(optimizer, io.BytesIO())
            assert b"megascope" not in pickle.dumps(net) + pickle.dumps(optimizer)
            copied = copy.deepcopy(net)
            loss_of(copied)                     # is not watched
            copied_optimizer = copy.deepcopy(optimizer)
            loss.backward()
            optimizer.step(), copied_optimizer.step()
            with watch: pass                    # and no longer
            watch.remove()
            assert before == {key: set(vars(module)) for key, module in net.named_modules()}
            assert "step" not in vars(optimizer)
            assert not nn.modules.module._global_forward_hooks and not nn.modules.module._global_forward_pre_hooks
            loss_of(net).backward()
            optimizer.step()
            """), "None []\n")
        self.assertEqual((self.counts()["forward"], self.counts()["optimizer"], self.counts()["backward"]), (1, 1, 1))
        self.assertEqual(self.losses(), {})

    def test_nothing_is_kept_alive(self):
        self.assertEqual(self.record("""
            import gc, weakref
            gc.disable()
            watch = megascope.watch(net, optimizer)
            inner = []
            net.h[0].register_forward_hook(lambda module, given, result: inner.append(weakref.ref(result)))
            loss = loss_of(net)
            loss.backward()
            optimizer.step()
            gone = [weakref.ref(net), weakref.ref(optimizer), weakref.ref(net.head.weight), weakref.ref(loss), *inner]
            del net, loss
            optimizer.zero_grad()
            del optimizer
            print([one() is None for one in gone])
            assert not nn.modules.module._global_forward_hooks
            watch.remove()
            """, MEGASCOPE_TENSORS="*"), "[True, True, True, True, True]\n")

    def test_schedulers_before_and_behind(self):
        self.record("""
            first = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            given = optimizer.step
            watch = megascope.watch(net, optimizer)
            watch.remove()
            assert optimizer.step is given
            watch = megascope.watch(net, optimizer)
            second = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            loss_of(net).backward()
            print(optimizer.step(lambda: 3)), first.step(), second.step()
            watch.remove()
            other = torch.optim.SGD(net.parameters(), lr=1)
            watch = megascope.watch(net, other)
            third = torch.optim.lr_scheduler.StepLR(other, 1)
            other.step(), third.step()
            watch.remove()
            other.step(), third.step()
            """)
        self.assertEqual(self.counts()["optimizer"], 2)

    def test_a_model_watched_twice(self):
        self.record("""
            first, second = megascope.watch(net, optimizer), megascope.watch(net, optimizer, name="again")
            loss_of(net)
            optimizer.step()
            first.remove()
            optimizer.step()
            second.remove()
            optimizer.step(), loss_of(net)
            print(sum(len(hooks) for hooks in (nn.modules.module._global_forward_hooks, nn.modules.module._global_forward_pre_hooks)))
            """)
        counts = self.counts()
        self.assertEqual((counts["optimizer"], counts["again optimizer"], counts["again forward"]), (1, 2, 1))
        self.assertNotIn("forward", counts)

    def test_several_models_in_several_threads(self):
        self.record("""
            import threading
            def train(name):
                one = Net()
                watch = megascope.watch(one, name=name)
                for _ in range(5):
                    loss_of(one).backward()
                watch.remove()
            threads = [threading.Thread(target=train, args=(f"model{i}",)) for i in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            """)
        counts = self.counts()
        for i in range(3):
            self.assertEqual([counts[f"model{i} {way}"] for way in ("forward", "backward")], [5, 5])
        self.assertEqual(self.losses(), {})

    def test_what_is_no_model_is_not_watched(self):
        self.record("""
            for nothing in (None, 3, "x", Net, [net], optimizer):
                with megascope.watch(nothing): pass
            with megascope.watch(net, optimizer=3): loss_of(net)
            with megascope.watch(net, optimizer="adam", name=None, depth="x"): pass
            """)
        self.assertEqual(self.counts()["forward"], 1)


if __name__ == "__main__":
    main_with_torch()
