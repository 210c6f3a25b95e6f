"""Tensors of watched models, and of PyTorch in general: their statistics are those that PyTorch computes.

  watched_tensors_test.py MEGASCOPE
"""

from model_case import OfModel, main_with_torch


class Tensors(OfModel):
    def test_statistics_are_those_of_the_models_tensors(self):
        said = self.record("""
            megascope.watch(net, optimizer)
            kept = {}
            net.h[1].down.register_forward_hook(lambda module, given, y: kept.update(actv_in=given[0], actv_out=y))
            loss_of(net).backward()
            kept |= {"weight": net.head.weight.detach().clone(), "grad_reduced": net.head.weight.grad.clone()}
            optimizer.step()
            state = optimizer.state[net.head.weight]
            kept |= {"weight_updated": net.head.weight, "exp_avg": state["exp_avg"], "exp_avg_sq": state["exp_avg_sq"]}
            for kind, tensor in kept.items():
                print(kind, tensor.numel(), tensor.double().norm().item())
            """, MEGASCOPE_TENSORS="*")
        lines = [line.split() for line in said.splitlines()]
        self.assertEqual(len(lines), 7)
        for kind, count, norm in lines:
            found = self.statistics(f"h.1.down/layer 1/{kind}" if kind.startswith("actv") else f"head.weight/{kind}")
            self.assertEqual(found["count"], int(count), kind)
            self.assertAlmostEqual(found["norm"], float(norm), delta=1e-9 * float(norm), msg=kind)
        gradients = {event["name"].split("/")[0] for event in self.events() if event["ph"] == "C" and "/actv_grad_out/" in event["name"]}
        self.assertLessEqual({"model", "head", "h.1", "h.0", "token", "h.0.norm"}, gradients)
        self.assertIn("h.1.down", {event["name"].split("/")[0] for event in self.events() if event["ph"] == "C" and "/actv_grad_in/" in event["name"]})
        self.assertEqual(self.losses(), {})

    def test_only_those_that_are_asked_for(self):
        self.record("""
            megascope.watch(net, optimizer)
            loss_of(net).backward()
            optimizer.step()
            """, MEGASCOPE_TENSORS="*.weight")
        self.assertEqual({event["name"].split("/")[-2] for event in self.events() if event["ph"] == "C"},
                         {"weight", "grad_reduced", "weight_updated", "exp_avg", "exp_avg_sq"})

    def test_types_and_layouts_of_pytorch(self):
        self.record("""
            for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
                megascope.tensor(str(dtype), torch.arange(12).to(dtype).reshape(3, 4).t()[1:, ::2])
            megascope.tensor("needs gradient", torch.ones(2, requires_grad=True) * 2)
            megascope.tensor("bool", torch.tensor([True, False]))
            megascope.tensor("empty", torch.ones(0, 3)), megascope.tensor("no dimension", torch.tensor(3.0))
            megascope.tensor("conjugate", torch.ones(2, dtype=torch.complex64).conj())
            negative = torch.ones(2, dtype=torch.complex64).conj().imag
            for none in (negative, torch.ones(2, 2).to_sparse(), torch.ones(2, device="meta"), torch.ones(2, dtype=torch.complex64),
                         torch.quantize_per_tensor(torch.ones(2), 1, 0, torch.qint8)):
                megascope.tensor("none", none)
            """, MEGASCOPE_TENSORS="*")
        for dtype in ("float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8"):
            found = self.statistics(f"torch.{dtype}/other")
            self.assertEqual((found["count"], found["min"], found["max"], found["mean"]), (6, 1, 11, 6), dtype)
        self.assertEqual(self.statistics("needs gradient/other")["mean"], 2)
        self.assertEqual(self.statistics("bool/other")["mean"], 0.5)
        self.assertEqual(self.statistics("empty/other")["count"], 0)
        self.assertEqual(self.statistics("no dimension/other")["mean"], 3)
        self.assertEqual(self.losses(), {"refused": 1 + 5})


if __name__ == "__main__":
    main_with_torch()
