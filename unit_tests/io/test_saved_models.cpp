// SPDX-License-Identifier: BSD-3-Clause
// Models of all drivers go to a file and come back the same; files of other kinds are refused.
#include "polyad/io/saved_models.hpp"

#include <Kokkos_Core.hpp>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "temporary_folder.hpp"

namespace polyad::test {
namespace {

/// rows x columns with numbers that a float holds, no two alike: from, from + 1/4, ...
template <class Scalar>
FactorMatrix<Scalar, TestSpace> numbered(TestSpace const& space, count_t rows, count_t columns, double from) {
  auto const matrix = make_factor_matrix<Scalar>(space, "polyad::numbered", rows, columns);
  std::vector<double> elements(rows * columns);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = from + 0.25 * static_cast<double>(i);
  from_host<Scalar>(space, elements, matrix);
  return matrix;
}

template <class Scalar>
std::vector<double> elements_of(FactorMatrix<Scalar, TestSpace> const& matrix) {
  return to_host<Scalar>(TestSpace(), matrix);
}

template <class Scalar>
Ktensor<Scalar, TestSpace> some_ktensor(TestSpace const& space) {
  Ktensor<Scalar, TestSpace> model{{3, 0.5}, {space, Extents{4, 3, 5}, 2}};
  for (int n = 0; n < 3; ++n)
    Kokkos::deep_copy(model.factors[n], numbered<Scalar>(space, model.factors[n].extent(0), 2, n));
  return model;
}

template <class Scalar>
TuckerModel<Scalar, TestSpace> some_tucker(TestSpace const& space) {
  return {
      {numbered<Scalar>(space, 5, 2, 1), numbered<Scalar>(space, 4, 3, -2), numbered<Scalar>(space, 6, 4, 7)},
      numbered<Scalar>(space, 4, 6, 11)};  // R_2 x (R_0 R_1)
}

template <class Scalar>
void expect_round_trips() {
  TestSpace const space;
  TemporaryFolder const folder;
  auto const cp = some_ktensor<Scalar>(space);
  for (char const* const name : {"m.npz", "m.ktns"}) {
    save(space, cp, folder / name);
    auto const back = load_ktensor<Scalar>(space, folder / name);
    CHECK(back.weights == cp.weights);
    REQUIRE(back.factors.order() == 3);
    for (int n = 0; n < 3; ++n)
      CHECK(elements_of<Scalar>(back.factors[n]) == elements_of<Scalar>(cp.factors[n]));
  }

  auto const tucker = some_tucker<Scalar>(space);
  save(space, tucker, folder / "t.npz");
  auto const back = load_tucker<Scalar>(space, folder / "t.npz");
  REQUIRE(back.factors.size() == 3);
  for (std::size_t n = 0; n < 3; ++n)
    CHECK(elements_of<Scalar>(back.factors[n]) == elements_of<Scalar>(tucker.factors[n]));
  CHECK(elements_of<Scalar>(back.core) == elements_of<Scalar>(tucker.core));
  CHECK(back.core.extent(0) == 4);
  // In the file G(r_0, r_1, r_2) lies with r_2 fastest; here it is unfolded with r_1 fastest: column r_0
  // R_1 + r_1.
  auto const G = io::read_array_npz(folder / "t.npz", "core", 3);
  CHECK(G.shape == std::vector<std::uint64_t>{2, 3, 4});
  CHECK(G.elements[(1 * 3 + 2) * 4 + 3] == elements_of<Scalar>(tucker.core)[3 * 6 + 1 * 3 + 2]);

  FastTuckerModel<Scalar, TestSpace> completion(space, Extents{3, 2}, std::vector<count_t>{2, 1}, 3, true);
  completion.mean  = 3.5;
  completion.range = {1, 5};
  for (int n = 0; n < 2; ++n) {
    Kokkos::deep_copy(completion.A(n),
                      numbered<Scalar>(space, completion.A(n).extent(0), completion.columns(n), n));
    Kokkos::deep_copy(completion.B(n), numbered<Scalar>(space, completion.columns(n), 3, 9 + n));
    Kokkos::deep_copy(completion.bias(n), Scalar(0.25) * Scalar(n + 1));
  }
  completion.time_mode = 1;
  completion.drift(0)  = numbered<Scalar>(space, 3, 2, 5);
  save(space, completion, folder / "f.npz");
  auto const learned = load_fast_tucker<Scalar>(space, folder / "f.npz");
  CHECK(io::to_host_model(space, learned) == io::to_host_model(space, completion));
}

TEST_CASE("models of every driver read back as they were saved", "[io]") {
  expect_round_trips<float>();
  expect_round_trips<double>();
}

TEST_CASE("a model of another kind, and an ending that says nothing, are refused", "[io]") {
  TestSpace const space;
  TemporaryFolder const folder;
  save(space, some_ktensor<double>(space), folder / "cp.npz");
  save(space, some_tucker<double>(space), folder / "tucker.npz");
  CHECK_THROWS_AS(load_ktensor<double>(space, folder / "tucker.npz"), InputError);
  CHECK_THROWS_AS(load_tucker<double>(space, folder / "cp.npz"), InputError);
  CHECK_THROWS_AS(load_fast_tucker<double>(space, folder / "cp.npz"), InputError);
  CHECK_THROWS_AS(load_ktensor<double>(space, folder / "none.npz"), InputError);
  CHECK_THROWS_AS(save(space, some_ktensor<double>(space), folder / "m.bin"), UsageError);
  CHECK_THROWS_AS(save(space, some_tucker<double>(space), folder / "m.ktns"), UsageError);
  CHECK_FALSE(std::filesystem::exists(folder / "m.ktns"));
}

TEST_CASE("a Tucker file whose factors do not fit its core is refused", "[io]") {
  TestSpace const space;
  TemporaryFolder const folder;
  auto const core = io::HostArray{{2, 2}, {1, 2, 3, 4}};
  auto const U    = io::HostArray{{3, 2}, {1, 2, 3, 4, 5, 6}};
  auto const thin = io::HostArray{{6, 1}, {1, 2, 3, 4, 5, 6}};
  auto const load = [&](std::map<std::string, io::HostArray> const& arrays) {
    io::write_arrays_npz(folder / "t.npz", arrays, false);
    return load_tucker<double>(space, folder / "t.npz");
  };
  CHECK(load({{"core", core}, {"factor_0", U}, {"factor_1", U}}).factors.size() == 2);
  CHECK_THROWS_AS(load({{"core", core}, {"factor_0", U}, {"factor_1", thin}}), InputError);
  CHECK_THROWS_AS(load({{"core", core}, {"factor_0", U}, {"factor_2", U}}), InputError);
  CHECK_THROWS_AS(load({{"core", core}, {"factor_0", U}}), InputError);
  CHECK_THROWS_AS(load({{"factor_0", U}, {"factor_1", U}}), InputError);
}

}  // namespace
}  // namespace polyad::test
