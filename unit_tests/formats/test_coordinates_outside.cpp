// SPDX-License-Identifier: BSD-3-Clause
// A caller's View may hold coordinates outside the extents. Every function that takes coordinates names the
// first one.
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "polyad/cp/cp_als.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"
#include "polyad/tensor/survey.hpp"
#include "polyad/tucker/tucker.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

constexpr std::size_t nonzeros = 200;

/// A random tensor of that order in host memory.
HostTensor tensor_of_random_shape(Random& random, std::size_t order) {
  HostTensor tensor{"random", {}, {}, {}};
  for (std::size_t n = 0; n < order; ++n) tensor.extents.push_back(5 + random_below(random, 40));
  for (std::size_t p = 0; p < nonzeros; ++p) {
    for (std::size_t n = 0; n < order; ++n) tensor.indices.push_back(random_below(random, tensor.extents[n]));
    tensor.values.push_back(random_number(random));
  }
  return tensor;
}

/// A tensor with one index outside, and what an error has to say about it.
template <class Index>
struct Outside {
  using Coo     = CooTensor<double, Index, TestSpace>;
  using HostCoo = CooTensor<double, Index, HostOf<TestSpace>>;

  HostTensor host;  // without the fault
  Coo coo;
  HostCoo on_host;
  std::vector<Index> indices;
  std::string fault;

  Outside(Random& random, std::size_t order) : host(tensor_of_random_shape(random, order)) {
    TestSpace const space;
    std::size_t const p = random_below(random, nonzeros), n = random_below(random, order);
    Index const all_ones                = std::numeric_limits<Index>::max();
    std::vector<Index> const wrong_ones = {static_cast<Index>(host.extents[n]),
                                           static_cast<Index>(host.extents[n] + 1), all_ones / 2, all_ones,
                                           static_cast<Index>(all_ones - 2)};
    std::size_t const kind              = random_below(random, wrong_ones.size());
    Index const wrong                   = wrong_ones[kind];
    std::ostringstream text;
    text << "nonzero " << p << " is outside the tensor: it has index " << wrong;
    if (kind == 3) text << " (-1 as a signed number)";
    if (kind == 4) text << " (-3 as a signed number)";
    text << " in mode " << n << " of " << host.extents[n] << " rows";
    fault = text.str();
    indices.assign(host.indices.begin(), host.indices.end());
    indices[p * order + n] = wrong;
    // A later fault, which is not the one to name.
    if (p + 1 < nonzeros) indices[(p + 1) * order] = all_ones;

    Extents const extents{std::span<count_t const>(host.extents)};
    coo     = make_coo_tensor<double, Index>(space, extents, nonzeros);
    on_host = make_coo_tensor<double, Index>(HostOf<TestSpace>(), extents, nonzeros);
    for (std::size_t q = 0; q < nonzeros; ++q) {
      on_host.values()(q) = host.values[q];
      for (std::size_t m = 0; m < order; ++m) on_host.indices()(q, m) = indices[q * order + m];
    }
    Kokkos::deep_copy(coo.values(), on_host.values());
    Kokkos::deep_copy(coo.indices(), on_host.indices());
  }
};

template <class Index>
void expect_named(Random& random, std::size_t order) {
  TestSpace const space;
  Outside<Index> const outside(random, order);
  auto const& X         = outside.coo;
  Extents const extents = X.extents();
  CAPTURE(order, outside.fault);
  auto const expect = [&](char const* what, std::function<void()> const& call) {
    CAPTURE(what);
    CHECK(message_of(call) == outside.fault);
  };

  std::istringstream names(format_names() + ", auto");
  for (std::string format; names >> format;) {
    if (format.back() == ',') format.pop_back();
    CAPTURE(format);
    expect("any_format", [&] { (void)any_format(space, X, {.rank = 3, .format = format}); });
    if (format != "auto") {
      TensorSource<double, Index, TestSpace> const source{
          .load = [&] { return X; }, .load_on_host = [&](std::string const&) { return outside.on_host; }};
      expect("a source of coordinates", [&] {
        (void)AnyFormat<double, TestSpace>::build(space, source, {.rank = 3, .format = format});
      });
    }
  }
  expect("stream", [&] { (void)AnyFormat<double, TestSpace>::stream(space, outside.on_host, {.rank = 3}); });
  expect("estimate_formats", [&] { (void)estimate_formats(space, X, {.rank = 3}); });
  expect("tune_formats", [&] { (void)tune_formats(space, X, {.rank = 3}); });
  expect("survey_tensor", [&] {
    (void)survey_tensor<Index>(std::span<std::uint64_t const>(outside.host.extents),
                               std::span<Index const>(outside.indices));
  });
  expect("cp_als", [&] { (void)cp_als(space, X, {.rank = 3}); });
  expect("nvecs", [&] { (void)nvecs(space, X, 2); });
  TuckerOptions tucker_options;
  tucker_options.ranks.assign(order, 2);
  expect("tucker", [&] { (void)tucker(space, X, tucker_options); });
  expect("hosvd_tucker_start", [&] { (void)hosvd_tucker_start(space, X, tucker_options); });
  auto const U = make_factor_matrix<double>(space, "polyad::test", extents[0], 2);
  expect("spttm", [&] { (void)spttm(space, X, U, 0); });

  auto const good = to_device<double, Index>(space, outside.host);
  using Data      = FastTuckerData<double, Index, TestSpace>;
  for (double const shrinkage : {-1.0, 10.0}) {
    FastTuckerOptions options{.rank = 2, .max_epochs = 1};
    if (shrinkage > 0) options.shrinkage = Shrinkage{};
    expect("a training set", [&] { (void)fast_tucker(space, X, options); });
    expect("a training set on the host", [&] {
      Data data;
      data.train_on_host = outside.on_host;
      (void)fast_tucker(space, data, options);
    });
    expect("a validation set",
           [&] { (void)fast_tucker(space, Data{.train = good, .validation = X}, options); });
    expect("a test set", [&] { (void)fast_tucker(space, Data{.train = good, .test = X}, options); });
  }
  expect("choose_fast_tucker", [&] { (void)choose_fast_tucker(space, X, FastTuckerOptions{}); });
  std::vector<count_t> const columns(order, 2);
  FastTuckerModel<double, TestSpace> model(space, extents, columns, 2, true);
  expect("a start", [&] { (void)fast_tucker(space, Data{.train = X}, {.max_epochs = 1}, model); });
  expect("fit_biases", [&] { fit_biases(space, X, {}, model); });
  expect("without_biases", [&] { (void)without_biases(space, X, model); });
  expect("predict", [&] { (void)predict(space, model, X); });
  expect("errors", [&] { (void)errors(space, model, X); });
  std::vector<count_t> const query(order - 1, 0);
  expect("recommend", [&] { (void)recommend(space, model, 0, query, {}, X); });

  io::CoordinateList list;
  list.extents = outside.host.extents;
  list.indices = io::UninitializedVector<Index>(outside.indices.begin(), outside.indices.end());
  list.values.assign(outside.host.values.begin(), outside.host.values.end());
  io::HostKtensor ktensor;
  ktensor.extents = list.extents;
  ktensor.weights = {1};
  for (auto const extent : list.extents) ktensor.factors.emplace_back(extent, 1.0);
  expect("fit_of_model", [&] { (void)io::fit_of_model(list, ktensor); });
  auto const path = std::filesystem::temp_directory_path() / "polyad-coordinates-outside.pten";
  expect("write_tensor", [&] { io::write_tensor(path, list); });
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("coordinates outside: every function that takes coordinates names the first one", "[formats]") {
  Random random(20261201);
  for (std::size_t order = 2; order <= 5; ++order) {
    expect_named<std::uint32_t>(random, order);
    expect_named<std::uint64_t>(random, order);
  }
}

}  // namespace
}  // namespace polyad::test
