// SPDX-License-Identifier: BSD-3-Clause
// Failing allocations: for every k the k-th allocation of a case fails. The case then ends with an error of a
// known type, or does without that memory and gives the right result. Nothing leaks, files are whole, and the
// next run gives the right result.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "polyad/io/checkpoint.hpp"
#include "polyad/polyad.hpp"
#include "support/format_list.hpp"
#include "torture/failing_memory.hpp"
#include "torture/noted_blocks.hpp"
#include "torture/torture.hpp"

namespace polyad::torture {
namespace {

using Space  = Kokkos::DefaultExecutionSpace;
using Tensor = CooTensor<double, std::uint32_t, Space>;
using Clock  = std::chrono::steady_clock;

struct Case {
  std::string name;
  /// A number that shows whether the result is right.
  std::function<double()> run;
  /// Where files are written; empty: nowhere.
  std::filesystem::path folder = {};
  bool uses_kokkos             = false;
};

/// The labels of Kokkos' Views and kernels are shorter; the record that precedes a View's data is not.
constexpr std::uint64_t label_bytes = 128;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double sum_of(std::vector<double> const& numbers) {
  double sum = 0;
  for (std::size_t k = 0; k < numbers.size(); ++k) sum += numbers[k] * static_cast<double>(k % 7 + 1);
  return sum;
}

double sum_of(io::CoordinateList const& list) {
  double sum       = 0;
  auto const order = list.extents.size();
  std::visit(
      [&](auto const& indices) {
        for (std::size_t p = 0; p < list.values.size(); ++p)
          sum += list.values[p] * static_cast<double>(indices[p * order] % 5 + 1);
      },
      list.indices);
  return sum;
}

io::CoordinateList to_list(Space const& space, Tensor const& coo) {
  auto const host = download<Kokkos::DefaultHostExecutionSpace>(space, coo);
  io::CoordinateList list;
  auto& indices = list.indices.emplace<0>();
  for (int n = 0; n < coo.order(); ++n) list.extents.push_back(coo.extents()[n]);
  for (count_t p = 0; p < coo.nnz(); ++p) {
    for (int n = 0; n < coo.order(); ++n) indices.push_back(host.indices()(p, n));
    list.values.push_back(host.values()(p));
  }
  return list;
}

std::string content_of(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double product_sum(Space const& space, Tensor const& coo, std::string const& format) {
  AnyFormatOptions options;
  options.format = format;
  options.rank   = 4;
  auto const X   = any_format(space, coo, options);
  FactorMatrices<double, Space> const factors(space, coo.extents(), 4);
  fill_random(space, factors, 5);
  auto workspace = X.make_workspace(space, 4);
  double sum     = 0;
  for (int n = 0; n < coo.order(); ++n) {
    auto const V = make_factor_matrix<double>(space, "polyad::torture", coo.extents()[n], 4);
    mttkrp(space, X, factors, n, workspace, V);
    space.fence("polyad::torture");
    sum += sum_of(to_host<double>(space, V));
  }
  return sum;
}

void put(std::vector<Case>& cases, std::string name, std::function<double()> run) {
  cases.push_back({std::move(name), std::move(run), {}, true});
}

/// Files of every kind are made here.
void add_readers(std::vector<Case>& cases, io::CoordinateList const& list,
                 std::filesystem::path const& folder) {
  struct Kind {
    std::string name;
    io::WriteOptions options;
  };
  std::vector<Kind> kinds{
      {"in.tns", {}}, {"in.mtx.txt", {}}, {"in.npz", {}}, {"in.pten", {}}, {"packed.pten", {}}};
  kinds[1].options.dialect = io::Dialect::extended_frostt;
  kinds[4].options.packed  = true;
  for (auto const& kind : kinds) {
    auto const path = folder / kind.name;
    io::write_tensor(path, list, kind.options);
    for (int const threads : {1, 3})
      put(cases, "read " + kind.name + (threads > 1 ? " by threads" : ""),
          [path, threads] { return sum_of(io::read_tensor(path, {.threads = threads}).tensor); });
  }
  // Packed by scripts/torture, if it has the programs.
  for (char const* name : {"in.tns.gz", "in.tns.xz", "in.tns.zst"})
    if (auto const path = folder / name; std::filesystem::exists(path))
      put(cases, std::string("read ") + name,
          [path] { return sum_of(io::read_tensor(path, {.threads = 1}).tensor); });
  for (auto& test : cases) test.uses_kokkos = false;
}

/// \param write  given a path
void put_writer(std::vector<Case>& cases, std::filesystem::path const& folder, std::string const& name,
                std::function<void(std::filesystem::path const&)> const& write) {
  auto const own = folder / ("out_" + std::to_string(cases.size()));
  std::filesystem::create_directory(own);
  auto const path = own / name;
  write(path);
  cases.push_back({"write " + name,
                   [path, write] {
                     write(path);
                     return static_cast<double>(std::filesystem::file_size(path));
                   },
                   own, true});
}

std::vector<Case> all_cases(Wanted const& wanted) {
  Space const space;
  std::vector<Case> cases;
  auto const coo     = uniform_tensor<double, std::uint32_t>(space, Extents{30, 20, 10}, 1500, 3);
  auto const list    = to_list(space, coo);
  auto const ratings = uniform_tensor<float, std::uint32_t>(space, Extents{30, 20, 10}, 2500, 4);
  add_readers(cases, list, wanted.folder);
  for (auto const& name : test::list_of_formats())
    put(cases, "build and product of " + name, [=] { return product_sum(space, coo, name); });
  put(cases, "build, chosen", [=] { return product_sum(space, coo, "auto"); });
  put(cases, "coordinates to the device", [=] {
    return norm_squared(space,
                        sum_duplicates(space, io::to_coo_tensor<double, std::uint32_t>(space, list)).tensor);
  });
  put(cases, "cp_als", [=] {
    CpAlsOptions options;
    options.rank           = 4;
    options.max_iterations = 3;
    options.tolerance      = 0;
    return cp_als(space, coo, options).fit;
  });
  put(cases, "cp_als, restarts", [=] {
    CpAlsOptions options;
    options.rank           = 3;
    options.max_iterations = 2;
    options.tolerance      = 0;
    options.restarts       = 2;
    return cp_als(space, coo, options).fit;
  });
  put(cases, "tucker", [=] {
    TuckerOptions options;
    options.ranks          = {3, 3, 3};
    options.max_iterations = 2;
    options.tolerance      = 0;
    return tucker(space, coo, options).fit;
  });
  put(cases, "fast_tucker, shrunk", [=] {
    FastTuckerOptions options;
    options.rank       = 3;
    options.max_epochs = 2;
    options.shrinkage  = Shrinkage{};
    return fast_tucker(space, ratings, options).history.back().train.rmse;
  });
  put(cases, "fast_tucker, chosen", [=] {
    FastTuckerOptions options;
    options.max_epochs = 2;
    options.rank       = 2;
    return fast_tucker(space, ratings, options).biases.train.rmse;
  });
  put(cases, "fast_tucker, adam and its states", [=] {
    FastTuckerOptions options;
    options.rank             = 2;
    options.max_epochs       = 2;
    options.optimizer        = FastTuckerOptimizer::adam;
    options.checkpoint_every = 1;
    options.checkpoint       = wanted.folder / "fast_tucker.checkpoint";
    double const rmse        = fast_tucker(space, ratings, options).history.back().train.rmse;
    return rmse + sum_of(io::read_fast_tucker_checkpoint(options.checkpoint).factors[0]);
  });

  CpAlsOptions als;
  als.rank           = 3;
  als.max_iterations = 2;
  auto const model   = cp_als(space, coo, als).model;
  FastTuckerOptions training;
  training.rank       = 2;
  training.max_epochs = 1;
  training.shrinkage  = Shrinkage{};
  auto const learned  = fast_tucker(space, ratings, training).model;
  TuckerOptions hooi;
  hooi.ranks          = {2, 2, 2};
  hooi.max_iterations = 1;
  auto const tuckered = tucker(space, coo, hooi).model;
  auto const& f       = wanted.folder;
  for (char const* const name : {"t.tns", "t.npz", "t.pten"})
    put_writer(cases, f, name, [=](auto const& path) { io::write_tensor(path, list, {.threads = 1}); });
  put_writer(cases, f, "packed.pten",
             [=](auto const& path) { io::write_tensor(path, list, {.packed = true, .threads = 2}); });
  for (char const* const name : {"m.ktns", "m.npz"})
    put_writer(cases, f, name, [=](auto const& path) { save(space, model, path); });
  put_writer(cases, f, "tucker.npz", [=](auto const& path) { save(space, tuckered, path); });
  put_writer(cases, f, "learned.npz", [=](auto const& path) { save(space, learned, path); });
  io::Checkpoint checkpoint;
  checkpoint.precision = "f64";
  checkpoint.format    = "sorted";
  checkpoint.rank      = 2;
  checkpoint.extents   = {2, 1};
  checkpoint.factors   = {{1, 2, 3, 4}, {5, 6}};
  checkpoint.grams     = std::vector<double>(8, 1.0);
  put_writer(cases, f, "c.ckpt", [=](auto const& path) { io::write_checkpoint(path, checkpoint); });
  for (auto const& [name, load] :
       std::vector<std::pair<std::string, std::function<double(std::filesystem::path const&)>>>{
           {"m.ktns", [=](auto const& path) { return load_ktensor<double>(space, path).weights[0]; }},
           {"m.npz", [=](auto const& path) { return load_ktensor<double>(space, path).weights[0]; }},
           {"learned.npz", [=](auto const& path) { return load_fast_tucker<float>(space, path).mean; }},
           {"c.ckpt", [](auto const& path) { return io::read_checkpoint(path).factors[1][1]; }}})
    for (auto const& made : std::vector<Case>(cases))
      if (made.name == "write " + name)
        put(cases, "read " + name, [path = made.folder / name, load = load] { return load(path); });
  return cases;
}

bool close_to(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

/// What the exception in flight is; empty for a known kind.
std::string unknown_exception() {
  try {
    throw;
  } catch (MemoryError const&) {
    return "";
  } catch (std::bad_alloc const&) {
    return "";
  } catch (Error const& error) {
    return std::string("an error, but not of memory: ") + error.what();
  } catch (std::exception const& error) {
    // Kokkos has no type for it.
    std::string const text = error.what();
    return text.find("allocate") != std::string::npos ? "" : "an unknown exception: " + text;
  } catch (...) {
    return "an unknown exception";
  }
}

std::vector<std::pair<std::string, std::string>> files_of(std::filesystem::path const& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  if (folder.empty()) return files;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    files.emplace_back(entry.path().filename().string(), content_of(entry.path()));
  std::sort(files.begin(), files.end());
  return files;
}

std::int64_t blocks_of_ours() {
  return live_blocks() - blocks_of_kokkos();
}

class Torture {
public:
  explicit Torture(Wanted const& wanted) : m_wanted(wanted) {}

  void run(Case const& test, double seconds) {
    bool const is_first      = test.name == m_wanted.only;
    std::uint64_t const from = is_first ? m_wanted.from : 1;
    std::uint64_t const to   = is_first && m_wanted.to != 0 ? m_wanted.to : UINT64_MAX;
    auto const begin         = Clock::now();
    note_blocks(is_device_space<Space>);
    double const expected = test.run();
    static_cast<void>(test.run());
    auto const files    = files_of(test.folder);
    std::int64_t blocks = blocks_of_ours();
    auto const start    = Clock::now();
    arm(0);
    static_cast<void>(test.run());
    std::uint64_t const count = disarm();
    double const each         = since(start);
    // Twice: the one that fails, and the next.
    double const room = std::max(1.0, seconds / (2 * std::max(each, 1e-6)));
    auto const stride =
        static_cast<std::uint64_t>(std::max(1.0, std::ceil(static_cast<double>(count) / room)));
    std::uint64_t tried = 0;
    std::uint64_t k     = std::max<std::uint64_t>(from, 1 + (stride > 1 ? m_wanted.seed % stride : 0));
    for (; k <= to; k += stride) {
      if (stride > 1 && since(begin) > 2 * seconds + 1) break;
      note(test.name, k);
      if (!once(test, k, expected)) break;
      ++tried;
      if (std::int64_t const now = blocks_of_ours(); now != blocks) {
        // A View whose construction fails at a label leaves its record behind: Kokkos does not undo it.
        if (test.uses_kokkos && failed_bytes() < label_bytes)
          ++m_left_by_kokkos;
        else if (!is_device_space<Space> || is_left_again(test, k, expected))
          finding(test.name, k, std::to_string(now - blocks) + " blocks of memory are left");
        else
          ++m_left_once;
        blocks = blocks_of_ours();
      }
      if (files_of(test.folder) != files) {
        finding(test.name, k, "the files are not as they were");
        break;
      }
      if (!close_to(test.run(), expected)) finding(test.name, k, "the next run gives another result");
    }
    m_tried += tried;
    std::printf("%-44s %6llu allocations, %6llu of them failed%s\n", test.name.c_str(),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(tried),
                stride > 1 || from > 1 || to < count ? "" : " (all)");
    std::fflush(stdout);
  }
  [[nodiscard]] int findings() const { return m_findings; }
  [[nodiscard]] std::uint64_t tried() const { return m_tried - m_spared; }
  [[nodiscard]] std::uint64_t spared() const { return m_spared; }
  [[nodiscard]] std::uint64_t left_by_kokkos() const { return m_left_by_kokkos; }
  [[nodiscard]] std::uint64_t left_once() const { return m_left_once; }

private:
  /// Without free memory a format may be built in another way. Kokkos then keeps a block for each kernel that
  /// no run has launched before, and the library's kernels have no names here. A second time nothing is left.
  bool is_left_again(Case const& test, std::uint64_t k, double expected) {
    std::int64_t const blocks = blocks_of_ours();
    static_cast<void>(once(test, k, expected));
    return blocks_of_ours() != blocks;
  }
  /// Returns false once the case has fewer allocations.
  bool once(Case const& test, std::uint64_t k, double expected) {
    std::string complaint;
    bool threw    = false;
    double result = 0;
    arm(k);
    try {
      result = test.run();
      disarm();
    } catch (...) {
      disarm();
      threw     = true;
      complaint = unknown_exception();
    }
    if (!complaint.empty()) finding(test.name, k, complaint);
    if (!threw && !close_to(result, expected)) finding(test.name, k, "another result and no error");
    if (threw && !failed()) finding(test.name, k, "an error without a failed allocation");
    if (torture::spared()) ++m_spared;
    return failed() || torture::spared();
  }
  void finding(std::string const& name, std::uint64_t k, std::string const& what) {
    ++m_findings;
    std::fprintf(stderr, "FINDING allocations: %s, allocation %llu: %s\n", name.c_str(),
                 static_cast<unsigned long long>(k), what.c_str());
    print_failed();
  }
  /// So that whoever started the process knows where it ended.
  void note(std::string const& name, std::uint64_t k) const {
    if (std::FILE* const file = std::fopen((m_wanted.folder / "progress").c_str(), "w")) {
      std::fprintf(file, "%s\n%llu\n", name.c_str(), static_cast<unsigned long long>(k));
      std::fclose(file);
    }
  }

  Wanted m_wanted;
  int m_findings        = 0;
  std::uint64_t m_tried = 0, m_spared = 0, m_left_by_kokkos = 0, m_left_once = 0;
};

}  // namespace

int allocation_cases(Wanted const& wanted) {
  for (auto const& test : all_cases(wanted)) std::printf("%s\n", test.name.c_str());
  return 0;
}

int allocations(Wanted const& wanted) {
  find_codecs();
  auto const cases = all_cases(wanted);
  Torture torture(wanted);
  bool skips = !wanted.only.empty();
  for (auto const& test : cases) {
    // From that case on: what came before it was done before the process ended.
    if (test.name == wanted.only) skips = false;
    if (skips) continue;
    torture.run(test, wanted.seconds / static_cast<double>(cases.size()));
    if (wanted.to != 0) break;
  }
  std::printf(
      "allocations: %llu failed in %zu cases, %llu inside Kokkos were spared, %llu Views left their record, "
      "%llu left blocks of kernels' first launches, %d findings\n",
      static_cast<unsigned long long>(torture.tried()), cases.size(),
      static_cast<unsigned long long>(torture.spared()),
      static_cast<unsigned long long>(torture.left_by_kokkos()),
      static_cast<unsigned long long>(torture.left_once()), torture.findings());
  return torture.findings();
}

}  // namespace polyad::torture
