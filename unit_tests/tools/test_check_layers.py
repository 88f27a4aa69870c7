#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check_layers.py against small trees: a good one passes, and each fault is found, in its line.
Usage: test_check_layers.py CHECK_LAYERS"""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
GOOD = {
    "CMakeLists.txt": "# SPDX-License-Identifier: BSD-3-Clause\n",
    "src/CMakeLists.txt": "# SPDX-License-Identifier: BSD-3-Clause\n"
    "set(headers\n  core/a.hpp\n  tensor/t.hpp\n  kernel/k.hpp\n  dense/d.hpp\n  formats/format.hpp\n"
    "  formats/coo/coo.hpp\n  formats/csf/csf.hpp\n  cp/cp.hpp\n  distributed/e.hpp\n  io/io.hpp\n  polyad.hpp\n  core/a.cpp)\n",
    "include/polyad/core/a.hpp": SPDX + "#if defined(KOKKOS_ENABLE_CUDA)\n#endif\n",
    "include/polyad/tensor/t.hpp": SPDX + '#include "polyad/core/a.hpp"\n#include "polyad/version.hpp"\n',
    "include/polyad/dense/d.hpp": SPDX + '#include "polyad/tensor/t.hpp"\n',
    "include/polyad/formats/format.hpp": SPDX + '#include "polyad/dense/d.hpp"\n',
    "src/formats/registry.hpp": SPDX
    + '#include "polyad/formats/coo/coo.hpp"\n#include "polyad/formats/csf/csf.hpp"\n',
    "include/polyad/formats/coo/coo.hpp": SPDX + '#include "polyad/formats/format.hpp"\n',
    "include/polyad/formats/csf/csf.hpp": SPDX
    + "// KOKKOS_ENABLE_CUDA and atomicAdd( in a comment are words only\n"
    + 'void f() {\n  Kokkos::parallel_for("polyad::f", policy, [=](Member const& m) {\n'
    + "    Kokkos::parallel_for(Kokkos::TeamThreadRange(m, 3), g);\n"
    + "    auto const columns = Kokkos::ThreadVectorRange(m, 4);\n    Kokkos::parallel_for(columns, g);\n  });\n"
    + '  Kokkos::View<int*> v("polyad::v", 3);\n'
    + '  Kokkos::View<int*> w(Kokkos::view_alloc(space, h(1, 2), "polyad::w"), 3);\n}\n',
    "include/polyad/kernel/k.hpp": SPDX + '#include "polyad/tensor/t.hpp"\n#ifdef __CUDA_ARCH__\n#endif\n',
    "include/polyad/distributed/e.hpp": SPDX + '#include "polyad/formats/format.hpp"\n',
    "include/polyad/cp/cp.hpp": SPDX + '#include "polyad/formats/format.hpp"\n#include "polyad/dense/d.hpp"\n',
    "src/dense/p.hpp": SPDX + '#include "polyad/dense/d.hpp"\n#include "polyad/kernel/k.hpp"\n',
    "examples/e.hpp": SPDX,
    "src/cli/main.hpp": SPDX
    + '#include "polyad/polyad.hpp"\n#include "beside.hpp"\n#include "formats/choose_format.hpp"\n',
    "include/polyad/io/io.hpp": SPDX + '#include "polyad/tensor/t.hpp"\n#include <zlib.h>\n',
    "include/polyad/polyad.hpp": SPDX + '#include "polyad/cp/cp.hpp"\n',
    "src/core/a.cpp": SPDX + '#include "polyad/core/a.hpp"\n',
    "src/cp/q.hpp": SPDX + '#include "dense/p.hpp"\n#include "polyad/cp/cp.hpp"\n',
}


def load(path):
    spec = importlib.util.spec_from_file_location("check_layers", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def faults(changes):
    """What the check finds in the good tree with these files put in place of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **changes}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return load(CHECK).Checker(folder).run()


class CheckLayers(unittest.TestCase):
    def test_good_tree(self):
        self.assertEqual(faults({}), [])

    def test_casts(self):
        def with_lines(*lines):
            return faults({"src/core/a.cpp": SPDX + "".join(line + "\n" for line in lines) + "\n" * 100})

        self.assertEqual(with_lines("auto a = static_cast<int>(b);"), [])
        few = ["// static_cast<int>(b)", "void(*p)(int) = f;", "count_t(0);", "count_t{0};", "std::function<bool(int)> g;",
               "static_cast<void>(h());", "static_cast<char const*>(q);", "double d(int);"]
        self.assertEqual(with_lines(*few * 3), [])
        for cast in ("static_cast<std::size_t>(n)", "count_t(n)", "count_t{n}", "(int)n",
                     "static_cast<typename A::value_type>(n)"):
            found = with_lines(*[f"auto a = {cast};"] * 9)
            self.assertEqual(len(found), 1, cast)
            self.assertIn("src:1: 9 casts to numbers", found[0])
        # A helper that only casts does not hide the casts.
        helper = "auto const to = [](double x) { return static_cast<float>(x); };"
        self.assertIn("src:1: 9 casts to numbers", with_lines(helper, *["f(to(y));"] * 8)[0])

    def test_exit_status(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, status in (("CMakeLists.txt", "", 1), ("CMakeLists.txt", GOOD["CMakeLists.txt"], 0)):
                Path(folder, name).write_text(text)
                result = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
                self.assertEqual(result.returncode, status, result.stdout + result.stderr)

    def assert_found(self, name, line, *words, add=True):
        """`line` appended to the file `name` of the good tree is a fault, the only one."""
        text = (GOOD.get(name, SPDX) if add else "") + line + "\n"
        # An include that goes up also makes a cycle, as long as what it includes comes back.
        found = [fault for fault in faults({name: text}) if "a cycle: " not in fault]
        self.assertEqual(len(found), 1, found)
        number = text.count("\n") if add else 1
        self.assertTrue(found[0].startswith(f"{name}:{number}: "), found)
        for word in words:
            self.assertIn(word, found[0])

    def test_includes_go_down(self):
        inner = "include/polyad"
        for name, include in (
            ("core/a.hpp", "tensor/t.hpp"),
            ("core/a.hpp", "io/io.hpp"),
            ("tensor/t.hpp", "dense/d.hpp"),
            ("dense/d.hpp", "formats/format.hpp"),
            ("formats/format.hpp", "cp/cp.hpp"),
            ("formats/coo/coo.hpp", "io/io.hpp"),
            ("io/io.hpp", "dense/d.hpp"),
            ("kernel/k.hpp", "dense/d.hpp"),
            ("distributed/e.hpp", "cp/cp.hpp"),
        ):
            with self.subTest(name):
                self.assert_found(f"{inner}/{name}", f'#include "polyad/{include}"', "includes go down only", include)
        self.assert_found("src/core/a.cpp", '#include "polyad/cp/cp.hpp"', "includes go down only")
        self.assert_found(f"{inner}/tensor/t.hpp", '#include "polyad/polyad.hpp"', "part of the library")
        self.assert_found(f"{inner}/tensor/t.hpp", '#include "elsewhere/t.hpp"', "neither")
        self.assert_found("src/dense/p.hpp", '#include "cp/q.hpp"', "includes go down only")
        self.assert_found(f"{inner}/tensor/t.hpp", "#include <polyad/core/a.hpp>", "quotes")

    def test_port_list(self):
        one = "| `include/polyad/core/a.hpp` | streams |\n"
        self.assertEqual(faults({"docs/developer/extending.md": one + "| `include/polyad/kernel/k.hpp` | lanes |\n"}), [])
        found = faults({"docs/developer/extending.md": one})
        self.assertEqual(len(found), 1, found)
        self.assertIn("kernel/k.hpp:1: has a backend's words", found[0])

    def test_files_that_ask_for_a_device(self):
        asks = SPDX + "int x = is_device_space<Space>;\n"
        most = load(CHECK).MOST_SPACE_FILES
        names = [f"dense/s{k}.hpp" for k in range(most)]
        listed = {"src/CMakeLists.txt": GOOD["src/CMakeLists.txt"] + "\n".join(names)}
        free = {"src/core/a.cpp": GOOD["src/core/a.cpp"] + asks, "include/polyad/kernel/machine.hpp": asks}
        listed["src/CMakeLists.txt"] += "\nkernel/machine.hpp\n"
        tree = {**{f"src/{name}": asks for name in names}, **free, **listed}
        self.assertEqual(faults(tree), [])
        found = faults({**tree, "src/dense/one_more.hpp": asks})
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"{most + 1} files ask is_device_space", found[0])

    def test_template_parameters(self):
        five = "template <class A, template <int> class B, int C, Pair<int, int> D, bool E = f(1, 2)"
        good = GOOD["src/dense/p.hpp"] + f"{five}> struct K;\n"
        self.assertEqual(faults({"src/dense/p.hpp": good}), [])
        self.assert_found("src/dense/p.hpp", f"{five}, int G> struct K;", "K has 6 template parameters")

    def test_atomics(self):
        good = "std::int64_t long_rows; void f() { Kokkos::atomic_add(&long_rows, 1); }\n"
        self.assertEqual(faults({"src/dense/p.hpp": GOOD["src/dense/p.hpp"] + good}), [])
        # Without atomics the type may be used.
        self.assertEqual(faults({"src/dense/p.hpp": GOOD["src/dense/p.hpp"] + "long long sum;\n"}), [])
        for slow in ("long long", "unsigned long", "unsigned long long", "Kokkos::complex<double>", "std::uint16_t", "short"):
            with self.subTest(slow):
                self.assert_found("src/dense/p.hpp", f"{slow} sum; void f() {{ Kokkos::atomic_add(&sum, 1); }}", "atomics")

    def test_border(self):
        self.assert_found("include/polyad/cp/cp.hpp", '#include "dense/p.hpp"', "private")
        self.assert_found("src/cli/main.hpp", '#include "dense/p.hpp"', "private")
        self.assert_found("examples/e.hpp", '#include "dense/p.hpp"', "private")
        self.assert_found("src/cli/main.hpp", '#include "../dense/p.hpp"', "relative")
        self.assert_found("examples/e.hpp", '#include "formats/choose_format.hpp"', "private")
        self.assert_found("include/polyad/polyad.hpp", '#include "formats/registry.hpp"', "private")
        self.assert_found("include/polyad/polyad.hpp", '#include "polyad/kernel/k.hpp"', "for users")

    def test_cycles(self):
        for change in (
            {"src/dense/p.hpp": SPDX + '#include "dense/p2.hpp"\n', "src/dense/p2.hpp": SPDX + '#include "dense/p.hpp"\n'},
            {"include/polyad/core/a.hpp": SPDX + '#include "polyad/core/a.hpp"\n'},
        ):
            found = faults(change)
            self.assertEqual(len(found), 1, found)
            self.assertIn("a cycle: ", found[0])

    def test_counts(self):
        checker = load(CHECK)
        headers = {f"include/polyad/core/d{k // 10}/h{k}.hpp": SPDX for k in range(checker.MOST_PUBLIC)}
        listed = {"src/CMakeLists.txt": GOOD["src/CMakeLists.txt"] + "\n".join(f"core/d{k // 10}/h{k}.hpp" for k in range(len(headers)))}
        found = faults({**headers, **listed})
        self.assertEqual(len(found), 1, found)
        self.assertIn("public headers, more than", found[0])
        lines = {f"include/polyad/core/d{k // 10}/h{k}.hpp": SPDX + "//\n" * 390 for k in range(checker.MOST_PUBLIC_LINES // 390 + 1)}
        listed = {"src/CMakeLists.txt": GOOD["src/CMakeLists.txt"] + "\n".join(f"core/d{k // 10}/h{k}.hpp" for k in range(len(lines)))}
        found = faults({**lines, **listed})
        self.assertEqual(len(found), 1, found)
        self.assertIn("public lines, more than", found[0])

    def test_rooms_of_the_tool(self):
        # The good tree's main.hpp is one more.
        headers = {f"src/cli/h{k}.hpp": SPDX for k in range(load(CHECK).MOST_FOLDER_FILES)}
        found = faults(headers)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("src/cli:1: "), found)
        self.assertIn("files in a folder, more than", found[0])
        headers["src/cli/room/h0.hpp"] = headers.pop("src/cli/h0.hpp")
        self.assertEqual(faults(headers), [])

    def test_families_and_drivers(self):
        inner = "include/polyad"
        self.assert_found(f"{inner}/formats/coo/coo.hpp", '#include "polyad/formats/csf/csf.hpp"', "family")
        self.assert_found("src/formats/coo/walk.hpp", '#include "formats/registry.hpp"', "registry")
        self.assert_found(f"{inner}/formats/format.hpp", '#include "polyad/formats/csf/csf.hpp"', "family")
        self.assert_found(f"{inner}/cp/cp.hpp", '#include "polyad/formats/coo/coo.hpp"', "driver")
        self.assert_found("src/cp/body.hpp", '#include "formats/registry.hpp"', "driver")

    def test_names_of_formats(self):
        mine = {"src/formats/coo/mine.hpp": SPDX + 'static constexpr char const* name = "mine";\nauto own = "mine";\n'}
        self.assertEqual(faults(mine), [])
        for place in ("src/cli/main.hpp", "src/cp/body.hpp", "src/formats/choose.hpp"):
            with self.subTest(place):
                found = faults({**mine, place: SPDX + '// "mine"\nauto a = "a mine";\nauto b = "mine:deep";\n'})
                self.assertEqual(len(found), 1, found)
                self.assertIn(":4: \"mine:deep\" is a format", found[0])

    def test_kernels_are_written_once(self):
        for words in (
            "#if defined(KOKKOS_ENABLE_CUDA)",
            "#ifdef __CUDA_ARCH__",
            "KOKKOS_IF_ON_DEVICE((x = 1;))",
            "x = __shfl_xor_sync(mask, x, 1);",
            "__syncthreads();",
            "int i = threadIdx.x;",
            "atomicAdd(p, 1.0);",
            "cudaMemcpy(a, b, n);",
            "#include <cub/cub.cuh>",
            "#include <nccl.h>",
            "ncclAllReduce(a, b, n);",
            "launch(space.cuda_stream());",
            'f("CUBLAS_WORKSPACE_CONFIG");',
            'f("NCCL_NVLS_ENABLE");',
            "kernel<<<1, 2>>>(x);",
            'asm volatile("nop;");',
        ):
            with self.subTest(words):
                self.assert_found("include/polyad/formats/coo/coo.hpp", words, "core/")
                self.assertEqual(faults({"src/core/a.cpp": SPDX + words + "\n"}), [])
                for binding in load(CHECK).BINDINGS:
                    listed = GOOD["src/CMakeLists.txt"] + binding.removeprefix("src/") + "\n"
                    self.assertEqual(faults({binding: SPDX + words + "\n", "src/CMakeLists.txt": listed}), [])

    def test_labels(self):
        for words in (
            'Kokkos::parallel_for("f", policy, g);',
            'Kokkos::parallel_reduce("polyad: f", policy, g);',
            "Kokkos::parallel_scan(policy, g);",
            "Kokkos::parallel_for(Kokkos::RangePolicy<Space>(space, 0, n), g);",
            'Kokkos::View<int*> v("v", 3);',
            'Kokkos::View<int*> v(Kokkos::view_alloc(space, "v"), 3);',
            "Kokkos::View<int*> v(Kokkos::view_alloc(space, Kokkos::WithoutInitializing), 3);",
        ):
            with self.subTest(words):
                self.assert_found("include/polyad/dense/d.hpp", words, "label")

    def test_lists(self):
        self.assert_found("include/polyad/core/b.hpp", SPDX.strip(), "is not in src/CMakeLists.txt", add=False)
        self.assert_found("src/io/b.cpp", SPDX.strip(), "is not in src/CMakeLists.txt", add=False)
        self.assert_found("src/CMakeLists.txt", "set(more io/gone.cpp)", "there is no io/gone.cpp")

    def test_plain_sources(self):
        listed = GOOD["src/CMakeLists.txt"] + "set(plain_sources core/a.cpp)\n"
        self.assertEqual(faults({"src/CMakeLists.txt": listed}), [])
        kokkos = SPDX + "#include <Kokkos_Core.hpp>\n"
        found = faults({"src/CMakeLists.txt": listed, "include/polyad/core/a.hpp": kokkos})
        self.assertEqual(
            found, ["src/core/a.cpp:1: is a plain source of src, and includes polyad/core/a.hpp, Kokkos_Core.hpp"]
        )
        self.assertEqual(faults({"include/polyad/core/a.hpp": kokkos}), [])

    def test_files(self):
        self.assert_found("src/io/b.hpp", "int x;", "SPDX", add=False)
        self.assert_found("scripts/b", "#!/bin/sh", "SPDX", add=False)
        self.assert_found("src/io/b.hpp", SPDX.strip() + " What a file holds.", "without other words", add=False)
        self.assert_found("src/io/utils/b.hpp", SPDX.strip(), "no folder is called utils", add=False)
        self.assert_found("include/polyad/core/a.hpp", "\n" * 400, "more than 400 lines")


if __name__ == "__main__":
    CHECK = sys.argv.pop(1)
    unittest.main()
