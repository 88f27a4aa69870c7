// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/any_format.hpp"

#include <span>
#include <string_view>
#include <vector>

#include "polyad/core/device_memory.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/formats/ceilings.hpp"
#include "polyad/formats/registry.hpp"
#include "polyad/tensor/download.hpp"

namespace polyad {

namespace {

template <class F>
typename F::options_type options_of(AnyFormatOptions const& wish) {
  typename F::options_type options;
  if constexpr (requires { options.deterministic; })
    options.deterministic = wish.deterministic;
  else
    POLYAD_EXPECTS(!wish.deterministic, "the format ", F::name, " has no deterministic order of summation");
  if constexpr (std::is_same_v<typename F::options_type, SortedOptions>) {
    if (wish.only_copies) options.storage = SortedOptions::Storage::copies;
  }
  if constexpr (std::is_same_v<typename F::options_type, FCooOptions>) {
    options.threadlen = wish.f_coo_threadlen;
    if (wish.f_coo_team_threads > 0) options.shape.team_threads = wish.f_coo_team_threads;
  }
  return options;
}

template <class Scalar, class Space>
struct Built {
  std::shared_ptr<detail::ErasedFormat<Scalar, Space> const> format;
  std::string because;  // it is not stored as its name says
};

/// The format of that name. \throws UsageError
template <class Scalar, class Index, class Space>
Built<Scalar, Space> build_in_memory(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                     std::string_view name, AnyFormatOptions const& options) {
  Built<Scalar, Space> built;
  with_format<Scalar, Index, Space>(name, [&](auto identity) {
    using F = typename decltype(identity)::type;
    F X     = F::build(space, coo, options_of<F>(options));
    if constexpr (requires { X.permuted(); })
      if (X.permuted()) built.because = stored_as_permutations;
    built.format = std::make_shared<detail::HeldFormat<F>>(std::move(X));
  });
  return built;
}

/// \param buffer_bytes  of the nonzeros under way; 0: what is free
template <class Scalar, class Index, class Space, class HostSpace>
Built<Scalar, Space> build_streamed(Space const& space, CooTensor<Scalar, Index, HostSpace> const& coo,
                                    AnyFormatOptions const& options, count_t buffer_bytes) {
  using F               = StreamedBlco<Scalar, Index, Space>;
  auto streamed         = options_of<F>(options);
  streamed.buffer_bytes = buffer_bytes;
  DeviceMemoryAccount::HostArrays const on_host;
  return {std::make_shared<detail::HeldFormat<F>>(F::build(space, coo, streamed)), {}};
}

template <class Scalar, class Index, class Space>
TensorSurvey survey_of(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  if (is_device_space<Space>)
    expect_fits(Kokkos::DefaultHostExecutionSpace(), "the coordinates in host memory", coo.nnz(),
                static_cast<count_t>(coo.order()) * sizeof(Index));
  auto const indices = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, coo.indices());
  Kokkos::deep_copy(space, indices, coo.indices());
  space.fence("polyad::any_format");
  std::vector<std::uint64_t> extents;
  for (int n = 0; n < coo.order(); ++n) extents.push_back(coo.extents()[n]);
  int const threads = is_device_space<Space> ? 0 : static_cast<int>(space.concurrency());
  return survey_tensor<Index>(extents, std::span<Index const>(indices.data(), indices.size()), threads);
}

template <class Scalar, class Space>
Ceilings ceilings_for(Space const& space, AnyFormatOptions const& options, double seconds) {
  if (options.machine) return *options.machine;
  if (seconds >= worth_measuring_s) try {
      return measure_ceilings<Scalar>(space);
    } catch (MemoryError const&) {  // the usual ones do as well
    }
  return usual_ceilings(is_device_space<Space>, static_cast<int>(space.concurrency()), sizeof(Scalar));
}

}  // namespace

template <class Scalar, class Index, class Space>
auto AnyFormat<Scalar, Index, Space>::build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                            options_type const& options) -> AnyFormat {
  checked_rank(options.rank);
  bool const chooses = options.format == "auto";
  if (!chooses) with_format<Scalar, Index, Space>(options.format, [](auto) {});  // known, or an error
  count_t buffer_bytes = 0;
  auto const build_as  = [&](std::string const& format, AnyFormatOptions const& as) {
    if (format == StreamedBlco<Scalar, Index, Space>::name)
      return build_streamed(space, download<host_space>(space, coo), as, buffer_bytes);
    return build_in_memory(space, coo, format, as);
  };
  if (!chooses && !options.memory_bytes) {
    auto built = build_as(options.format, options);
    return {built.format, built.because, {}};
  }

  auto const survey = options.survey ? *options.survey : survey_of(space, coo);
  FormatWish wish{.iterations    = options.iterations,
                  .deterministic = chooses && options.deterministic,
                  .may_stream    = !chooses || options.may_stream,
                  .bytes         = available_memory(space) + coo.storage_bytes()};
  if (options.memory_bytes) {
    wish.bytes = std::min(wish.bytes, *options.memory_bytes);
    Ceilings const any_machine;
    count_t const model = model_bytes({survey, any_machine, options.rank, sizeof(Scalar), sizeof(Index)});
    buffer_bytes        = wish.bytes > model ? wish.bytes - model : 0;
  }
  auto list =
      polyad::candidates(survey, options.rank, sizeof(Scalar), sizeof(Index), wish,
                         [&](double seconds) { return ceilings_for<Scalar>(space, options, seconds); });
  if (!chooses) {
    for (auto const& candidate : list)
      if (candidate.name == options.format && !candidate.fits)
        throw MemoryError("the tensor in " + candidate.name, candidate.need_bytes,
                          "only " + bytes_text(wish.bytes) + " are free");
    auto built = build_as(options.format, options);
    return {built.format, built.because, {}};
  }
  AnyFormatOptions as = options;
  as.only_copies      = true;  // what takes their place has been chosen among the candidates
  std::string because;
  auto const built = with_best_candidate(
      list, wish,
      [&](FormatCandidate const& best, std::string const& why) {
        because = why;
        return build_as(best.name, as);
      },
      [] { return true; });
  return {built.format, because, std::move(list)};
}

template <class Scalar, class Index, class Space>
auto AnyFormat<Scalar, Index, Space>::stream(Space const& space,
                                             CooTensor<Scalar, Index, host_space> const& coo,
                                             options_type const& options) -> AnyFormat {
  auto built = build_streamed<Scalar, Index, Space>(space, coo, options, options.memory_bytes.value_or(0));
  return {built.format, built.because, {}};
}

// Not the whole class: its other members are compiled where they are used.
#define POLYAD_ANY_FORMAT(Scalar, Index)                                                                    \
  template AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>                                          \
  AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>::build(                                           \
      Kokkos::DefaultExecutionSpace const&, CooTensor<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      AnyFormatOptions const&);                                                                             \
  template AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>                                          \
  AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>::stream(                                          \
      Kokkos::DefaultExecutionSpace const&,                                                                 \
      CooTensor<Scalar, Index, AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace>::host_space> const&, \
      AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_ANY_FORMAT);

}  // namespace polyad
