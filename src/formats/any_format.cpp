// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/any_format.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "core/host_side.hpp"
#include "formats/choose_format.hpp"
#include "formats/format_bytes.hpp"
#include "formats/format_trial.hpp"
#include "formats/format_wish.hpp"
#include "formats/lost_digits.hpp"
#include "formats/registry.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;

namespace {

/// The options of a format: those given as text, and those that the run requires.
template <class F>
typename F::options_type options_of(std::string const& text, AnyFormatOptions const& wish,
                                    count_t buffer_bytes) {
  typename F::options_type options;
  OptionText given(text);
  if constexpr (requires { options.read(given); }) options.read(given);
  given.expect_all_read(F::name);
  auto const expect = [](Capability capability) {
    POLYAD_EXPECTS(offers<F>(capability), "the format ", F::name, " has no ", to_string(capability));
  };
  for (auto const need : wish.needs) expect(need);
  if (wish.deterministic) expect(Capability::fixed_order);
  if constexpr (offers<F>(Capability::fixed_order))
    options.deterministic = options.deterministic || wish.deterministic;
  FormatRequest const request{wish.needs, wish.no_fallback, buffer_bytes, wish.only_mode};
  if constexpr (requires { options.serve(request); }) options.serve(request);
  return options;
}

/// Whether a format knows how many duplicates it holds.
template <class F>
concept CountsDuplicates = requires(F const& X) { X.duplicates(); };

/// The instance that examines a tensor's coordinates: the device's, or the host's for coordinates in host
/// memory.
template <class Coordinates, class Space>
typename Coordinates::space_type instance_of(Space const& space) {
  if constexpr (std::is_same_v<typename Coordinates::space_type, Space>)
    return space;
  else
    return {};
}

/// `coo`, with its duplicates summed if the options require it. \throws UsageError if they are refused
template <class Coordinates, class Space>
Coordinates settled(Space const& space, Coordinates const& coo, Duplicates duplicates, count_t found) {
  if (found == 0) return coo;
  POLYAD_EXPECTS(duplicates == Duplicates::sum, found,
                 " nonzeros have the coordinates of an earlier one: sum duplicates first, or let the options "
                 "sum or keep them");
  return sum_duplicates(instance_of<Coordinates>(space), coo).tensor;
}

/// F::build, which treats duplicates as the options say. \throws as F::build and settled
template <class F, class Coordinates>
F build_settled(typename F::space_type const& space, Coordinates const& coo,
                typename F::options_type const& options, Duplicates duplicates) {
  if (duplicates == Duplicates::keep) return F::build(space, coo, options);
  auto const count = [&] { return count_duplicates(instance_of<Coordinates>(space), coo); };
  if constexpr (CountsDuplicates<F>) {
    std::optional<F> X           = F::build(space, coo, options);
    std::optional<count_t> known = X->duplicates();
    count_t const found          = known ? *known : count();
    if (found == 0) return *std::move(X);
    X.reset();  // its memory is needed
    return F::build(space, settled(space, coo, duplicates, found), options);
  } else {
    return F::build(space, settled(space, coo, duplicates, count()), options);
  }
}

template <class Scalar, class Space>
using Built = std::shared_ptr<detail::FormatInterface<Scalar, Space> const>;

/// A format of the registry's, once it is chosen.
template <class Scalar, class Index, class Space>
class Builder {
public:
  using Source = TensorSource<Scalar, Index, Space>;

  Builder(Space const& space, Source const& source) : m_space(space), m_source(source) {}

  /// \param text  the format with its options
  /// \param because  why the tensor is to be streamed, if it is
  /// \param buffer_bytes  for the nonzeros under way, if it streams; 0: all free memory
  /// \throws UsageError; MemoryError
  Built<Scalar, Space> operator()(std::string const& text, std::string const& because,
                                  AnyFormatOptions const& wish, count_t buffer_bytes) {
    auto const format = split_format_text(text);
    Built<Scalar, Space> built;
    with_format<Scalar, Index, Space>(format.name, [&](auto identity) {
      using F            = typename decltype(identity)::type;
      auto const options = options_of<F>(format.options, wish, buffer_bytes);
      if constexpr (offers<F>(Capability::streaming))
        built = build<F>(checked(host_instance(m_space), m_source.load_on_host(because)), options,
                         wish.duplicates);
      else
        built = build<F>(checked(m_space, m_source.load()), options, wish.duplicates);
    });
    return built;
  }
  /// The same from coordinates that are already in memory.
  template <class F, class Coordinates>
  Built<Scalar, Space> build(Coordinates const& coo, typename F::options_type const& options,
                             Duplicates duplicates) {
    std::optional<DeviceMemoryAccount::HostArrays> const on_host =
        offers<F>(Capability::streaming) ? std::make_optional<DeviceMemoryAccount::HostArrays>()
                                         : std::nullopt;
    m_warning = warning_of_lost_digits(instance_of<Coordinates>(m_space), F::name, coo);
    m_space.fence("polyad::build");
    Kokkos::Timer const clock;
    auto built =
        std::make_shared<detail::FormatModel<F>>(build_settled<F>(m_space, coo, options, duplicates));
    m_space.fence("polyad::build");
    m_seconds           = clock.seconds();
    m_coordinates_bytes = offers<F>(Capability::streaming) ? 0 : coo.storage_bytes();
    return built;
  }
  /// The coordinates, all within the extents. \throws UsageError if one is not
  template <class On>
  CooTensor<Scalar, Index, On> checked(On const& space, CooTensor<Scalar, Index, On> coo) const {
    if (!m_source.is_checked) expect_coordinates_inside(space, coo);
    return coo;
  }
  [[nodiscard]] double seconds() const { return m_seconds; }
  /// The warning about the last format, for AnyFormat::warning().
  [[nodiscard]] std::string const& warning() const { return m_warning; }
  /// The bytes of coordinates that are needed in addition to the format and released after the build.
  [[nodiscard]] count_t coordinates_bytes() const { return m_coordinates_bytes; }

private:
  Space m_space;
  Source const& m_source;
  double m_seconds = 0;
  std::string m_warning;
  count_t m_coordinates_bytes = 0;
};

/// The usual format for capabilities that the cost model does not cover. Empty if no format that has all of
/// them is usual for one of them. The cost model does not cover a single mode either.
template <class Scalar, class Index, class Space>
std::string usual_format(std::vector<Capability> const& needs, int only_mode) {
  std::string usual;
  for_each_format<Scalar, Index, Space>([&](auto identity) {
    using F = typename decltype(identity)::type;
    bool const all =
        std::ranges::all_of(needs, [](Capability c) { return c == Capability::mttkrp || offers<F>(c); });
    if constexpr (requires { F::default_for(Capability::mttkrp); })
      if (all && std::ranges::any_of(needs, F::default_for)) usual = F::name;
    if constexpr (requires { F::default_for_one_mode; })
      if (all && only_mode >= 0) usual = F::name;
  });
  return usual;
}

/// \throws UsageError for a number that is negative, infinite or not a number
void expect_iterations(double iterations) {
  POLYAD_EXPECTS(iterations >= 0 && std::isfinite(iterations), "a format for ", iterations, " iterations");
}

/// The choice of an earlier run, if it is a candidate that fits.
std::optional<StoredFormat> stored_format(AnyFormatOptions const& options,
                                          std::vector<FormatCandidate> const& candidates) {
  auto const stored = options.hooks.stored ? options.hooks.stored() : std::nullopt;
  if (!stored) return std::nullopt;
  auto const name = split_format_text(stored->format).name;
  bool const fits =
      std::ranges::any_of(candidates, [&](FormatCandidate const& c) { return c.name == name && c.fits; });
  return fits ? stored : std::nullopt;
}

}  // namespace

template <class Scalar, class Space>
template <class Index>
auto AnyFormat<Scalar, Space>::build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                     options_type const& options) -> AnyFormat {
  expect_coordinates_inside(space, coo);
  TensorSource<Scalar, Index, Space> const source{
      .load         = [&] { return coo; },
      .load_on_host = [&](std::string const&) { return download<host_space>(space, coo); },
      .held_bytes   = coo.storage_bytes(),
      .is_checked   = true};
  if (options.survey || (options.format != "auto" && !options.memory_bytes))
    return build(space, source, options);
  options_type with_survey = options;
  with_survey.survey       = survey_of(space, coo);
  return build(space, source, with_survey);
}

template <class Scalar, class Space>
template <class Index>
auto AnyFormat<Scalar, Space>::build(Space const& space, TensorSource<Scalar, Index, Space> const& source,
                                     options_type const& options) -> AnyFormat {
  checked_rank(options.rank);
  expect_iterations(options.iterations);
  POLYAD_EXPECTS(options.time_limit_s >= 0, "the time limit is ", options.time_limit_s,
                 " s, but it must be 0 or more");
  expect_format(options.format);
  std::string const usual = options.format == "auto"
                                ? usual_format<Scalar, Index, Space>(options.needs, options.only_mode)
                                : options.format;
  bool const chooses      = usual.empty();
  auto const progress     = [&](char const* step) {
    if (options.hooks.progress) options.hooks.progress(step);
  };
  count_t buffer_bytes = 0;
  Builder<Scalar, Index, Space> builder(space, source);
  AnyFormat X;
  X.m_rank            = options.rank;
  auto const build_as = [&](std::string const& format, std::string const& because,
                            AnyFormatOptions const& as) {
    X.m_format.reset();  // releases a format that left no room for the model
    X.m_format  = builder(format, because, as, buffer_bytes);
    X.m_build_s = builder.seconds();
    X.m_because = because.empty() ? X.m_format->note() : because;
    X.m_warning = builder.warning();
    progress("building the format");
  };
  if (!chooses && !options.memory_bytes) {
    build_as(usual, "", options);
    return X;
  }
  ChoiceInput const wish = choice_input_of(space, options, chooses, source.held_bytes);
  auto list              = candidates_of<Scalar, Index>(space, options, wish);
  Ceilings const any_machine;
  count_t const model =
      model_bytes({*options.survey, any_machine, options.rank, sizeof(Scalar), sizeof(Index)});
  if (options.memory_bytes) buffer_bytes = wish.bytes > model ? wish.bytes - model : 0;
  progress("looking at the tensor");
  if (!chooses) {
    for (auto const& candidate : list)
      if (candidate.name == split_format_text(usual).name && !candidate.fits)
        throw MemoryError("the tensor in " + candidate.name, candidate.need_bytes,
                          "only " + bytes_text(wish.bytes) + " are free");
    build_as(usual, "", options);
    return X;
  }
  AnyFormatOptions as = options;
  as.no_fallback      = true;  // a format to replace it is a candidate of its own
  if (auto const stored = stored_format(options, list)) {
    build_as(stored->format, stored->because, as);
  } else {
    if (auto const trial = detail::plan_trial(list, options.hooks.trial); !trial.candidates.empty()) {
      auto const coo = builder.checked(space, source.load());
      for (auto* const candidate : trial.candidates)
        try_candidate(space, coo, options.rank, trial.modes, *candidate, progress);
    }
    with_best_candidate(
        list, wish,
        [&](FormatCandidate const& best, std::string const& why) {
          build_as(best.name, why, as);
          count_t const left = available_memory(space) + builder.coordinates_bytes();
          if (model > left)
            throw MemoryError("a model of rank " + std::to_string(options.rank), model,
                              "only " + bytes_text(left) + " are left after building " + best.name);
        },
        [&] { return !source.is_there || source.is_there(); });
  }
  X.m_candidates = std::move(list);
  return X;
}

template <class Scalar, class Space>
template <class Index>
auto AnyFormat<Scalar, Space>::stream(Space const& space, CooTensor<Scalar, Index, host_space> const& coo,
                                      options_type const& options) -> AnyFormat {
  expect_coordinates_inside(host_instance(space), coo);
  auto const format = split_format_text(options.format);
  TensorSource<Scalar, Index, Space> const source;
  Builder<Scalar, Index, Space> builder(space, source);
  AnyFormat X;
  for_each_format<Scalar, Index, Space>([&](auto identity) {
    using F = typename decltype(identity)::type;
    if constexpr (offers<F>(Capability::streaming))
      if (!X.m_format && (format.name == F::name ||
                          (format.name == "auto" && std::ranges::all_of(options.needs, offers<F>))))
        X.m_format = builder.template build<F>(
            coo, options_of<F>(format.options, options, options.memory_bytes.value_or(0)),
            options.duplicates);
  });
  POLYAD_EXPECTS(X.m_format, "the format ", format.name, " has no ", to_string(Capability::streaming));
  X.m_rank    = options.rank;
  X.m_build_s = builder.seconds();
  X.m_warning = builder.warning();
  return X;
}

template <class Scalar, class Index, class Space>
FormatBytes detail::format_bytes(Space const& space, Extents const& extents, count_t nnz,
                                 AnyFormatOptions const& options) {
  AnyFormatOptions asked = options;
  if (!asked.survey) asked.survey = survey_of_extents(extents, nnz);
  FormatBytes bytes;
  bytes.name = split_format_text(options.format).name;
  if (bytes.name == "auto") bytes.name = usual_format<Scalar, Index, Space>(options.needs, options.only_mode);
  if (bytes.name.empty()) {
    auto const list = candidates_of<Scalar, Index>(space, asked, choice_input_of(space, asked, true, 0));
    if (!list.empty()) bytes.name = list.front().name;
  }
  auto const machine = ceilings_for<Scalar>(space, options, 0);
  CostInput input{*asked.survey, machine, options.rank, sizeof(Scalar), sizeof(Index)};
  input.only_mode                = options.only_mode;
  count_t const coordinates      = coordinate_bytes(input);
  FormatCosts const* const costs = find_format_costs(bytes.name);
  if (costs == nullptr) {
    bytes.stored = bytes.built = coordinates;
    return bytes;
  }
  bytes.shares    = costs->shares_the_tensor;
  bytes.stored    = costs->storage_bytes(input) - (bytes.shares ? coordinates : 0);
  bytes.built     = costs->on_host ? bytes.stored : costs->build_bytes(input);
  bytes.workspace = costs->workspace_bytes(input);
  return bytes;
}

double expected_iterations(int most, double tolerance) {
  // Runs to the default tolerance on the tensors of data/ end after 5 to 50 iterations.
  constexpr double iterations_to_tolerance = 20;
  return tolerance > 0 ? std::min<double>(most, iterations_to_tolerance) : most;
}

std::string format_names(std::vector<Capability> const& needs) {
  std::string names;
  for_each_format<double, std::uint32_t, Kokkos::DefaultExecutionSpace>([&](auto identity) {
    using F = typename decltype(identity)::type;
    if (std::ranges::all_of(needs, offers<F>)) names += (names.empty() ? "" : ", ") + std::string(F::name);
  });
  return names;
}

void expect_format(std::string_view text) {
  auto const format = split_format_text(text);
  if (format.name == "auto") {
    POLYAD_EXPECTS(format.options.empty(), "auto has no options; the format that it chooses has");
    return;
  }
  with_format<double, std::uint32_t, Kokkos::DefaultExecutionSpace>(format.name, [&](auto identity) {
    options_of<typename decltype(identity)::type>(format.options, {}, 0);
  });
}

bool format_offers(std::string_view text, Capability capability) {
  bool can = false;
  with_format<double, std::uint32_t, Kokkos::DefaultExecutionSpace>(
      split_format_text(text).name,
      [&](auto identity) { can = offers<typename decltype(identity)::type>(capability); });
  return can;
}

template <class Scalar, class Index, class Space>
std::vector<FormatShape> detail::try_shapes(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                            std::string const& format, count_t rank) {
  std::vector<FormatShape> shapes;
  with_format<Scalar, Index, Space>(split_format_text(format).name, [&](auto identity) {
    using F = typename decltype(identity)::type;
    if constexpr (requires(F const& X) { tune(space, X, rank).front().options.text(); })
      for (auto const& trial : tune(space, F::build(space, coo, {}), rank))
        shapes.push_back({F::name + (":" + trial.options.text()), trial.seconds});
  });
  return shapes;
}

// The whole class is not instantiated: its other members are compiled where they are used.
#define POLYAD_ANY_FORMAT(Scalar, Index)                                                                   \
  template AnyFormat<Scalar, CompiledSpace> AnyFormat<Scalar, CompiledSpace>::build(                       \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, AnyFormatOptions const&);      \
  template AnyFormat<Scalar, CompiledSpace> AnyFormat<Scalar, CompiledSpace>::build(                       \
      CompiledSpace const&, TensorSource<Scalar, Index, CompiledSpace> const&, AnyFormatOptions const&);   \
  template AnyFormat<Scalar, CompiledSpace> AnyFormat<Scalar, CompiledSpace>::stream(                      \
      CompiledSpace const&, CooTensor<Scalar, Index, AnyFormat<Scalar, CompiledSpace>::host_space> const&, \
      AnyFormatOptions const&);                                                                            \
  template FormatBytes detail::format_bytes<Scalar, Index>(CompiledSpace const&, Extents const&, count_t,  \
                                                           AnyFormatOptions const&);                       \
  template std::vector<FormatShape> detail::try_shapes(                                                    \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, std::string const&, count_t)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_ANY_FORMAT);

}  // namespace polyad
