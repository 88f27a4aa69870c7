// SPDX-License-Identifier: BSD-3-Clause
// The extension module: arrays in and out, errors as Python's, the interpreter's lock released while
// computing. polyad/*.py checks and converts the arguments of users; this module relies on that.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/split.hpp"
#include "polyad/io/tensor_file.hpp"
#include "row_names.hpp"

namespace nb = nanobind;
using namespace polyad;
using namespace polyad::python;

namespace {

// Inputs may be read-only; outputs may not.
using AnyArray = nb::ndarray<nb::ro, nb::c_contig>;
using Strided  = nb::ndarray<nb::ro>;
using Writable = nb::ndarray<>;
using OnHost   = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// --- one call at a time, without the interpreter's lock

std::recursive_mutex computing;
std::atomic<pid_t> process_of_start{0};
int threads_of_start = 0, device_of_start = -1;

/// Releases the interpreter's lock, waits for its turn and makes sure that Kokkos runs. The order matters: a
/// thread that waits for its turn must not hold a lock that the other thread's callback needs.
class Turn {
public:
  Turn() : m_lock(computing) {
    pid_t const started_in = process_of_start;
    if (started_in != 0) {
      if (started_in != getpid())
        throw BackendError(
            "this process was forked from one that had used Polyad, whose threads do not follow. Start "
            "workers by "
            "multiprocessing's 'spawn' or 'forkserver', or fork before the first use");
      return;
    }
    start(threads_of_start, device_of_start);
    process_of_start = getpid();
  }

private:
  nb::gil_scoped_release m_released;
  std::unique_lock<std::recursive_mutex> m_lock;
};

// --- arrays

/// Signed numbers are taken as unsigned ones with the same bits. A negative number becomes too large, and is
/// found by the check of the range.
Type type_of(nb::dlpack::dtype dtype) {
  if (dtype == nb::dtype<float>()) return Type::f32;
  if (dtype == nb::dtype<double>()) return Type::f64;
  if (dtype == nb::dtype<std::uint32_t>() || dtype == nb::dtype<std::int32_t>()) return Type::u32;
  if (dtype == nb::dtype<std::uint64_t>() || dtype == nb::dtype<std::int64_t>()) return Type::u64;
  throw UsageError("arrays are of float32, float64, or integers of 32 or 64 bits");
}
nb::dlpack::dtype dtype_of(Type type) {
  switch (type) {
    case Type::f32:
      return nb::dtype<float>();
    case Type::f64:
      return nb::dtype<double>();
    case Type::u32:
      return nb::dtype<std::uint32_t>();
    default:
      return nb::dtype<std::uint64_t>();
  }
}

/// Keeps a Python object alive. Any thread may release it.
std::shared_ptr<void> keep(nb::object object) {
  return {new nb::object(std::move(object)), [](void* kept) {
            if (!nb::is_alive()) return;
            nb::gil_scoped_acquire const lock;
            delete static_cast<nb::object*>(kept);
          }};
}

/// The array's memory. It lives as long as the owner does, which is the array itself.
template <class NdArray>
Array from_python(NdArray const& array, bool owned = false) {
  Array result;
  result.data = const_cast<void*>(static_cast<void const*>(array.data()));  // inputs are only read
  for (std::size_t k = 0; k < array.ndim(); ++k) {
    result.shape.push_back(array.shape(k));
    result.strides.push_back(array.stride(k));
  }
  result.type      = type_of(array.dtype());
  result.on_device = array.device_type() != nb::device::cpu::value;
  if (result.on_device && !takes_device_arrays())
    throw UsageError("an array is on a GPU, but this backend computes on the host: install the cuda backend");
  if (owned) result.owner = keep(nb::cast(array));
  return result;
}
std::vector<Array> from_python(std::vector<Strided> const& arrays) {
  std::vector<Array> result;
  for (auto const& array : arrays) result.push_back(from_python(array));
  return result;
}

/// numpy's view of the memory, which keeps the owner alive; for a device's memory, an object with DLPack's
/// methods.
nb::object to_python(Array const& array) {
  nb::capsule const owner(new std::shared_ptr<void>(array.owner),
                          [](void* kept) noexcept { delete static_cast<std::shared_ptr<void>*>(kept); });
  // A matrix without rows has no memory, but numpy requires some.
  static double nothing = 0;
  void* const data      = array.data == nullptr ? &nothing : array.data;
  if (array.on_device)
    return nb::cast(nb::ndarray<nb::array_api>(data, array.shape.size(), array.shape.data(), owner,
                                               array.strides.data(), dtype_of(array.type),
                                               nb::device::cuda::value, device_in_use()));
  return nb::cast(nb::ndarray<nb::numpy>(data, array.shape.size(), array.shape.data(), owner,
                                         array.strides.data(), dtype_of(array.type)));
}
nb::list to_python(std::vector<Array> const& arrays) {
  nb::list result;
  for (auto const& array : arrays) result.append(to_python(array));
  return result;
}
template <class T, class Owner>
nb::object to_python(T* data, std::vector<std::size_t> shape, std::shared_ptr<Owner> owner) {
  Array array{data, std::move(shape), {}, Type::f64, std::move(owner)};
  if constexpr (std::is_same_v<T, std::uint32_t>) array.type = Type::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) array.type = Type::u64;
  array.strides.assign(array.shape.size(), 1);
  for (std::size_t k = array.shape.size(); k-- > 1;)
    array.strides[k - 1] = array.strides[k] * static_cast<std::int64_t>(array.shape[k]);
  return to_python(array);
}

// --- callbacks and Ctrl-C

nb::dict to_python(Iteration const& it) {
  nb::dict result;
  result["iteration"] = it.iteration;
  result["fit"]       = it.fit;
  result["delta"]     = it.delta;
  result["seconds"]   = it.seconds;
  if (it.start) result["start"] = *it.start;
  if (!it.phases.empty()) result["phases"] = nb::cast(it.phases);
  return result;
}
nb::dict to_python(RestartSummary const& run) {
  nb::dict result;
  result["seed"]       = run.seed;
  result["fit"]        = run.fit;
  result["iterations"] = run.iterations;
  result["reason"]     = to_string(run.reason);
  result["seconds"]    = run.seconds;
  result["error"]      = run.error;
  return result;
}
nb::object to_python(Errors const& errors) {
  if (errors.entries == 0) return nb::none();
  nb::dict result;
  result["entries"] = errors.entries;
  result["rmse"]    = errors.rmse;
  result["mae"]     = errors.mae;
  return result;
}
nb::dict to_python(Epoch const& epoch) {
  nb::dict result;
  result["epoch"]      = epoch.epoch;
  result["train"]      = to_python(epoch.train);
  result["validation"] = to_python(epoch.validation);
  result["test"]       = to_python(epoch.test);
  result["seconds"]    = epoch.seconds;
  if (epoch.objective) result["objective"] = *epoch.objective;
  return result;
}
nb::dict to_python(ImplicitTrial const& trial) {
  nb::dict result;
  result["implicit"]   = trial.alpha;
  result["ridge"]      = trial.ridge;
  result["rank"]       = trial.rank;
  result["ndcg"]       = trial.ndcg;
  result["ndcg_error"] = trial.ndcg_error;
  result["users"]      = trial.users;
  return result;
}
template <class Step>
nb::list history_of(std::vector<Step> const& history) {
  nb::list result;
  for (auto const& step : history) result.append(to_python(step));
  return result;
}

/// Runs after each iteration: calls the caller's function, if there is one, and checks for Ctrl-C from time
/// to time. Another thread may hold the interpreter's lock for milliseconds, so it is not taken more often.
class Watch {
public:
  explicit Watch(nb::object callback) : m_callback(std::move(callback)) {}

  template <class Step>
  bool operator()(Step const& step) {
    if (m_callback.is_none() && !is_due()) return true;
    nb::gil_scoped_acquire const lock;
    return unless_interrupted([&] {
      check_signals();
      if (m_callback.is_none()) return true;
      nb::object const answer = m_callback(to_python(step));
      // A function that returns nothing lets the run continue.
      return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
    });
  }

  /// Between the steps before the first iteration, when there is no model yet: the exception passes.
  void operator()() {
    if (!is_due()) return;
    nb::gil_scoped_acquire const lock;
    check_signals();
  }

  /// During a search: false after a KeyboardInterrupt, so that the best so far is the result.
  bool continues() {
    if (!is_due()) return true;
    nb::gil_scoped_acquire const lock;
    return unless_interrupted([] {
      check_signals();
      return true;
    });
  }

  /// After the run, with the interpreter's lock: why it ended, and the KeyboardInterrupt that ended it or
  /// came since the last iteration. The exception carries the model.
  void add_to(nb::dict& result, StopReason reason) {
    unless_interrupted([] {
      check_signals();
      return true;
    });
    bool const stopped    = reason == StopReason::interrupted && !m_interrupt;
    result["reason"]      = stopped ? "stopped" : to_string(reason);
    result["interrupted"] = m_interrupt ? *m_interrupt : nb::none();
  }

private:
  [[nodiscard]] bool is_due() {
    auto const now = std::chrono::steady_clock::now();
    if (now - m_last < std::chrono::milliseconds(50)) return false;
    m_last = now;
    return true;
  }
  static void check_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  /// f(), or false after a KeyboardInterrupt: then the model so far is the result. Other exceptions pass.
  template <class F>
  bool unless_interrupted(F const& f) {
    try {
      return f();
    } catch (nb::python_error const& error) {
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      m_interrupt = nb::borrow(error.value());
      return false;
    }
  }

  nb::object m_callback;
  std::optional<nb::object> m_interrupt;
  std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
};

// --- errors

nb::object error_class(char const* name) {
  return nb::module_::import_("polyad._errors").attr(name);
}

/// A text that may hold any bytes.
nb::object to_python(std::string const& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}
nb::object to_python(std::uint64_t number) {
  return nb::cast(number);
}

void translate(std::exception_ptr const& pointer, void*) {
  auto const raise = [](char const* name, std::exception const& error, auto const&... attributes) {
    nb::object const cls   = error_class(name);
    nb::object const value = cls(to_python(std::string(error.what())));
    (nb::setattr(value, attributes.first, to_python(attributes.second)), ...);
    PyErr_SetObject(cls.ptr(), value.ptr());
  };
  try {
    std::rethrow_exception(pointer);
  } catch (InputError const& error) {
    raise("InputError", error, std::pair("file", error.file()), std::pair("line", error.line()),
          std::pair("column", error.column()));
  } catch (polyad::MemoryError const& error) {
    raise("MemoryError", error, std::pair("array", error.array()), std::pair("bytes", error.bytes()));
  } catch (UsageError const& error) {
    raise("UsageError", error);
  } catch (NumericalError const& error) {
    raise("NumericalError", error);
  } catch (WriteError const& error) {
    raise("WriteError", error);
  } catch (BackendError const& error) {
    raise("BackendError", error);
  } catch (Error const& error) {
    raise("Error", error);
  }
}

// --- files

/// A list as arrays that share its memory.
nb::tuple arrays_of(io::CoordinateList&& read) {
  auto const list  = std::make_shared<io::CoordinateList>(std::move(read));
  auto const order = list->extents.size();
  nb::object const coords =
      std::visit([&](auto& indices) { return to_python(indices.data(), {list->values.size(), order}, list); },
                 list->indices);
  return nb::make_tuple(coords, to_python(list->values.data(), {list->values.size()}, list), list->extents);
}

io::CoordinateList list_of(Tensor const& tensor) {
  io::CoordinateList list;
  list.extents        = tensor.extents();
  Array const indices = in_host_memory(tensor.indices());
  Array const values  = in_host_memory(tensor.values());
  auto const order    = list.extents.size();
  auto const nnz      = indices.shape[0];
  bool narrow         = true;
  for (auto const extent : list.extents)
    narrow = narrow && extent <= std::numeric_limits<std::uint32_t>::max();
  // The caller's array may have changed since the tensor was made. A narrower number would hide it.
  auto const copy_to = [&](auto to, auto const* from) {
    to.resize(nnz * order);
    for (std::size_t p = 0; p < nnz; ++p)
      for (std::size_t n = 0; n < order; ++n) {
        std::uint64_t const index = from[p * order + n];
        if (index >= list.extents[n])
          throw UsageError("nonzero " + std::to_string(p) + " is outside the tensor: it has index " +
                           std::to_string(index) + " in mode " + std::to_string(n) + " of " +
                           std::to_string(list.extents[n]) + " rows");
        to[p * order + n] = static_cast<typename decltype(to)::value_type>(index);
      }
    list.indices = std::move(to);
  };
  auto const copy_from = [&](auto const* from) {
    if (narrow)
      copy_to(io::UninitializedVector<std::uint32_t>(), from);
    else
      copy_to(io::UninitializedVector<std::uint64_t>(), from);
  };
  if (indices.type == Type::u32)
    copy_from(static_cast<std::uint32_t const*>(indices.data));
  else
    copy_from(static_cast<std::uint64_t const*>(indices.data));
  list.values.resize(values.shape[0]);
  for (std::size_t p = 0; p < values.shape[0]; ++p)
    list.values[p] = values.type == Type::f32 ? static_cast<double>(static_cast<float const*>(values.data)[p])
                                              : static_cast<double const*>(values.data)[p];
  return list;
}

using Matrix = nb::ndarray<double const, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class NdArray>
std::vector<double> numbers_of(NdArray const& array) {
  return {array.data(), array.data() + array.size()};
}
nb::object matrix_of(std::vector<double> numbers, std::uint64_t rows, std::uint64_t columns) {
  auto const kept = std::make_shared<std::vector<double>>(std::move(numbers));
  return to_python(kept->data(), {rows, columns}, kept);
}
nb::object vector_of(std::vector<double> numbers) {
  auto const kept = std::make_shared<std::vector<double>>(std::move(numbers));
  return to_python(kept->data(), {kept->size()}, kept);
}

using RowList = nb::ndarray<std::uint64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The rows that a model stores. \param given  None, or for each mode its size and a list of rows or None
std::vector<StoredRows> rows_from(nb::object const& given) {
  std::vector<StoredRows> rows;
  if (given.is_none()) return rows;
  for (auto const& of_mode : nb::cast<std::vector<nb::tuple>>(given)) {
    auto const extent = nb::cast<std::uint64_t>(of_mode[0]);
    if (of_mode[1].is_none()) {
      rows.emplace_back(extent);
      continue;
    }
    auto const list = nb::cast<RowList>(of_mode[1]);
    rows.emplace_back(extent, std::vector<std::uint64_t>(list.data(), list.data() + list.size()));
  }
  return rows;
}

/// The same from the library's lists.
nb::object rows_to_python(std::vector<StoredRows> const& rows) {
  if (rows.empty()) return nb::none();
  nb::list list;
  for (auto const& of_mode : rows) {
    nb::object numbers = nb::none();
    if (of_mode.is_list()) {
      auto const kept = std::make_shared<std::vector<std::uint64_t>>(of_mode.numbers());
      numbers         = to_python(kept->data(), {kept->size()}, kept);
    }
    list.append(nb::make_tuple(of_mode.extent(), numbers));
  }
  return list;
}

/// The sizes of the modes of a model with these factors and rows.
std::vector<std::uint64_t> extents_of(std::vector<Matrix> const& factors,
                                      std::vector<StoredRows> const& rows) {
  std::vector<std::uint64_t> extents;
  for (auto const& factor : factors) extents.push_back(factor.shape(0));
  if (!rows.empty() && rows.size() != factors.size())
    throw UsageError("a model has a list of rows for each mode, or none");
  for (std::size_t n = 0; n < rows.size(); ++n) extents[n] = rows[n].extent();
  return extents;
}

io::HostKtensor host_model(Vector const& weights, std::vector<Matrix> const& factors,
                           nb::object const& given_rows) {
  io::HostKtensor model;
  model.rows    = rows_from(given_rows);
  model.extents = extents_of(factors, model.rows);
  model.weights = numbers_of(weights);
  for (auto const& factor : factors) model.factors.push_back(numbers_of(factor));
  return model;
}

io::HostFastTucker host_fast_tucker(std::vector<Matrix> const& factors, std::vector<Matrix> const& cores,
                                    std::vector<Vector> const& biases, int time_mode,
                                    std::vector<Matrix> const& drifts, double mean, double lowest,
                                    double highest) {
  io::HostFastTucker model;
  for (auto const& factor : factors) {
    model.extents.push_back(factor.shape(0));
    model.columns.push_back(factor.shape(1));
    model.factors.push_back(numbers_of(factor));
  }
  for (auto const& core : cores) {
    model.rank = core.shape(1);
    model.cores.push_back(numbers_of(core));
  }
  for (auto const& bias : biases) model.biases.push_back(numbers_of(bias));
  model.time_mode = time_mode;
  for (auto const& drift : drifts) {
    model.bins.push_back(drift.shape(1));
    model.drifts.push_back(numbers_of(drift));
  }
  model.mean    = mean;
  model.lowest  = lowest;
  model.highest = highest;
  return model;
}

/// \param given  for each mode an array of booleans, 0 or 1, or None; or nothing at all
std::vector<std::vector<std::uint8_t>> observed_from(std::vector<nb::object> const& given) {
  std::vector<std::vector<std::uint8_t>> observed;
  for (auto const& mode : given) {
    auto& rows = observed.emplace_back();
    if (mode.is_none()) continue;
    auto const array =
        nb::cast<nb::ndarray<std::uint8_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(mode);
    rows.assign(array.data(), array.data() + array.size());
  }
  return observed;
}

// --- the drivers' options come as dicts, by the names of their rows (polyad/core/option_row.hpp)

template <class T>
void take(nb::dict const& options, char const* name, T& to) {
  if (options.contains(name)) to = nb::cast<T>(options[name]);
}

template <class T>
void put(nb::handle value, T& to) {
  to = nb::cast<T>(value);
}
void put(nb::handle value, std::filesystem::path& to) {
  to = nb::cast<std::string>(value);
}
void put(nb::handle value, FastTuckerOptimizer& to) {
  to = find_optimizer(nb::cast<std::string>(value)).id;
}
void put(nb::handle value, std::vector<RowTarget>& to) {
  for (auto const& target : nb::cast<std::vector<std::string>>(value)) {
    POLYAD_EXPECTS(target == "zero" || target == "one" || target == "left_out",
                   "a target is zero, one or left_out, not '", target, "'");
    to.push_back(target == "one"        ? RowTarget::one
                 : target == "left_out" ? RowTarget::left_out
                                        : RowTarget::zero);
  }
}
void put(nb::handle value, std::vector<BiasDrift>& to) {
  for (auto const& [bins, damping] : nb::cast<std::vector<std::pair<std::uint64_t, double>>>(value))
    to.push_back({bins, damping});
}
/// (observations, share, to_one)
void put(nb::handle value, std::optional<Shrinkage>& to) {
  auto const numbers = nb::cast<std::vector<double>>(value);
  to                 = Shrinkage{numbers.at(0), numbers.at(1), numbers.at(2)};
}
void put(nb::handle value, PredictionRange& to) {
  auto const [lowest, highest] = nb::cast<std::pair<double, double>>(value);
  to                           = {lowest, highest};
}
/// (lower, upper, l1, ridge, inner) of each mode
void put(nb::handle value, std::vector<ModeUpdate>& to) {
  for (auto const& [lower, upper, l1, penalty, inner] :
       nb::cast<std::vector<std::tuple<double, double, double, double, int>>>(value)) {
    Constraints const constraints{lower, upper, l1, penalty};
    to.push_back(constraints.is_unconstrained() ? ridge(penalty) : constrained(constraints, inner));
  }
}

/// The members whose rows' names are keys of the dict.
template <class Options>
Options options_from(nb::dict const& given) {
  Options options;
  for_each_option(options, [&](OptionRow const& row, auto& member) {
    if (!given.contains(row.name)) return;
    try {
      put(given[row.name], member);
    } catch (std::bad_cast const&) {  // Python's integers have any number of digits
      throw UsageError(std::string(row.name) + " is out of range: " + nb::repr(given[row.name]).c_str());
    }
  });
  return options;
}

nb::dict to_python(CpResult const& result, Watch& watch) {
  nb::dict out;
  out["weights"]        = vector_of(result.weights);
  out["factors"]        = to_python(result.factors);
  out["history"]        = history_of(result.history);
  out["fit"]            = result.fit;
  out["fit_error"]      = result.fit_error;
  out["gram_fallbacks"] = result.gram_fallbacks;
  out["defect"]         = result.defect;
  out["rows"]           = rows_to_python(result.rows);
  out["objective"]      = result.objective;
  if (!result.zeros.empty()) {
    out["kkt_violation"]   = result.kkt_violation;
    out["zeros"]           = nb::cast(result.zeros);
    out["zero_components"] = nb::cast(result.zero_components);
  }
  out["restarts"]     = history_of(result.restarts);
  out["best_restart"] = result.best_restart;
  out["constraints"]  = nb::cast(result.constraints);
  watch.add_to(out, result.reason);
  return out;
}

FormatOptions format_options(std::uint64_t rank, double iterations, std::string const& format,
                             bool deterministic, bool ttmc) {
  FormatOptions options;
  options.rank          = rank;
  options.iterations    = iterations;
  options.format        = format;
  options.deterministic = deterministic;
  options.need          = ttmc ? Need::ttmc : Need::mttkrp;
  return options;
}

/// The members of polyad.FastTuckerModel as a dict, by name: `cores`, `biases` ...
FastTuckerArrays fast_tucker_model(nb::dict const& given) {
  auto const arrays_of = [&](char const* name) {
    return from_python(nb::cast<std::vector<Strided>>(given[name]));
  };
  FastTuckerArrays model;
  model.factors  = arrays_of("factors");
  model.cores    = arrays_of("cores");
  model.biases   = arrays_of("biases");
  model.drifts   = arrays_of("drifts");
  model.observed = observed_from(nb::cast<std::vector<nb::object>>(given["observed"]));
  take(given, "time_mode", model.time_mode);
  take(given, "mean", model.mean);
  take(given, "lowest", model.lowest);
  take(given, "highest", model.highest);
  for (auto const& factor : model.factors) model.extents.push_back(factor.shape.at(0));
  for (auto const& core : model.cores) model.rank = core.shape.at(1);
  return model;
}

/// The same members of an engine's model.
nb::dict to_python(FastTuckerArrays const& model) {
  nb::dict out;
  out["factors"]   = to_python(model.factors);
  out["cores"]     = to_python(model.cores);
  out["biases"]    = to_python(model.biases);
  out["time_mode"] = model.time_mode;
  out["drifts"]    = to_python(model.drifts);
  out["mean"]      = model.mean;
  out["lowest"]    = model.lowest;
  out["highest"]   = model.highest;
  return out;
}

RowFit row_fit_from(nb::dict const& given) {
  RowFit fit;
  auto const put_if_given = [&](char const* name, auto& member) {
    if (given.contains(name) && !given[name].is_none()) put(given[name], member);
  };
  put_if_given("implicit", fit.implicit);
  put_if_given("ridge", fit.ridge);
  put_if_given("ridge_per_entry", fit.ridge_per_entry);
  put_if_given("shrinkage", fit.shrinkage);
  put_if_given("targets", fit.targets);
  put_if_given("bias_damping", fit.bias_damping);
  return fit;
}

FoldInOptions fold_in_options(nb::dict const& given) {
  FoldInOptions options;
  static_cast<RowFit&>(options) = row_fit_from(given);
  return options;
}

/// What row_fit_from takes.
nb::object to_python(std::optional<RowFit> const& fit) {
  if (!fit) return nb::none();
  nb::dict result;
  result["implicit"]        = nb::cast(fit->implicit);
  result["ridge"]           = nb::cast(fit->ridge);
  result["ridge_per_entry"] = fit->ridge_per_entry;
  result["shrinkage"]       = nb::none();
  if (auto const& numbers = fit->shrinkage)
    result["shrinkage"] = nb::make_tuple(numbers->observations, numbers->share, numbers->to_one);
  nb::list targets;
  for (auto const target : fit->targets)
    targets.append(target == RowTarget::zero ? "zero" : target == RowTarget::one ? "one" : "left_out");
  result["targets"]      = targets;
  result["bias_damping"] = fit->bias_damping;
  return result;
}

Array during_turn(Tensor const& tensor, Array (Tensor::*get)() const) {
  Turn const turn;
  return (tensor.*get)();
}

nb::object to_python(std::optional<FormatTimes> const& times) {
  if (!times) return nb::none();
  nb::dict result;
  result["load_s"]      = times->load_s;
  result["build_s"]     = times->build_s;
  result["mode_s"]      = nb::cast(times->mode_s);
  result["iteration_s"] = times->iteration_s;
  return result;
}
nb::dict to_python(FormatComparison const& found) {
  nb::list candidates;
  for (auto const& candidate : found.candidates) {
    nb::dict one;
    one["name"]        = candidate.name;
    one["bytes"]       = candidate.bytes;
    one["build_bytes"] = candidate.build_bytes;
    one["need_bytes"]  = candidate.need_bytes;
    one["fits"]        = candidate.fits;
    one["streams"]     = candidate.streams;
    one["predicted"]   = to_python(candidate.predicted);
    one["measured"]    = to_python(candidate.measured);
    candidates.append(one);
  }
  nb::dict out;
  out["candidates"] = candidates;
  out["best"]       = found.best;
  out["because"]    = found.because;
  out["shapes"]     = nb::cast(found.shapes);
  out["free_bytes"] = found.free_bytes;
  return out;
}

nb::tuple to_python(Ranked&& ranked) {
  auto const kept  = std::make_shared<Ranked>(std::move(ranked));
  auto const array = [&](auto& numbers) { return to_python(numbers.data(), {numbers.size()}, kept); };
  return nb::make_tuple(array(kept->starts), array(kept->rows), array(kept->scores), kept->unknown);
}

nb::dict to_python(Evaluation&& evaluation) {
  auto const kept = std::make_shared<Evaluation>(std::move(evaluation));
  nb::list scores, of_users;
  for (auto const& method : kept->scores) {
    nb::list metrics;
    for (auto const& metric : method.metrics)
      metrics.append(nb::make_tuple(metric.value, metric.error, metric.users));
    scores.append(nb::make_tuple(method.method, method.activity, method.users, method.entries, metrics));
  }
  for (auto& method : kept->of_users)
    of_users.append(nb::make_tuple(
        method.method, to_python(method.values.data(), {kept->user_rows.size(), metrics_of_user}, kept)));
  nb::dict out;
  out["scores"]      = scores;
  out["entries"]     = kept->entries;
  out["relevant"]    = kept->relevant;
  out["users"]       = kept->users;
  out["queries"]     = kept->queries;
  out["left_out"]    = kept->left_out;
  out["unknown"]     = kept->unknown;
  out["unreachable"] = kept->unreachable;
  out["candidates"]  = kept->candidates;
  out["user_rows"]   = to_python(kept->user_rows.data(), {kept->user_rows.size()}, kept);
  out["of_users"]    = of_users;
  return out;
}

nb::tuple cp_to_python(io::HostKtensor&& model) {
  nb::list factors;
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    factors.append(matrix_of(std::move(model.factors[n]), stored_rows(model.rows, n, model.extents[n]),
                             model.weights.size()));
  std::vector<std::vector<double>> constraints;
  for (auto const& c : model.constraints) constraints.push_back({c.lower, c.upper, c.l1, c.ridge});
  return nb::make_tuple(vector_of(std::move(model.weights)), factors, rows_to_python(model.rows),
                        row_names_to_python(model.names), nb::cast(constraints));
}

nb::tuple fast_tucker_to_python(io::HostFastTucker&& model) {
  nb::list factors, cores, biases, drifts;
  for (std::size_t n = 0; n < model.drifts.size(); ++n)
    drifts.append(matrix_of(std::move(model.drifts[n]), model.extents[n], model.bins[n]));
  for (std::size_t n = 0; n < model.extents.size(); ++n) {
    factors.append(matrix_of(std::move(model.factors[n]), model.extents[n], model.columns[n]));
    cores.append(matrix_of(std::move(model.cores[n]), model.columns[n], model.rank));
  }
  for (auto& bias : model.biases) biases.append(vector_of(std::move(bias)));
  nb::list observed;
  for (auto const& rows : model.observed)
    observed.append(nb::bytes(reinterpret_cast<char const*>(rows.data()), rows.size()));
  return nb::make_tuple(factors, cores, biases, model.time_mode, drifts, model.mean, model.lowest,
                        model.highest, observed, row_names_to_python(model.names), to_python(model.fit));
}

nb::object array_to_python(io::HostArray&& array) {
  auto const kept = std::make_shared<std::vector<double>>(std::move(array.elements));
  return to_python(kept->data(), {array.shape.begin(), array.shape.end()}, kept);
}

/// The core and the factors.
nb::tuple tucker_to_python(io::InputFile& file) {
  auto model = file.read_tucker();
  nb::list factors;
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    factors.append(
        matrix_of(std::move(model.factors[n]), stored_rows(model.rows, n, model.extents[n]), model.ranks[n]));
  return nb::make_tuple(array_to_python({model.ranks, std::move(model.core)}), factors,
                        rows_to_python(model.rows), row_names_to_python(model.names));
}

/// Lets Ctrl-C end the writing to a pipe without a reader.
void check_python_signals(io::WriteStage) {
  nb::gil_scoped_acquire const held;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

NB_MODULE(POLYAD_MODULE, m) {
  io::set_write_check(check_python_signals);
  nb::register_exception_translator(translate);
  nb::set_leak_warnings(false);  // models that are alive at exit are not leaks
  // A device reports an error if the process does not finalize it. Objects that are still alive then are
  // never released. A forked child has nothing to finalize.
  if (takes_device_arrays())
    Py_AtExit([] {
      if (process_of_start == getpid()) finish();
    });
  m.attr("__doc__") = "Polyad's compiled part; use the functions of polyad.";

  m.def("backend", [] {
    Backend const facts = backend();
    return nb::make_tuple(facts.name, facts.device, facts.problem);
  });
  m.def("is_started", [] { return process_of_start != 0; });
  m.def("start", [](int threads, int device) {
    threads_of_start = threads;
    device_of_start  = device;
    Turn const turn;
    return concurrency();
  });
  m.def("device_in_use", [] {
    Turn const turn;
    return device_in_use();
  });
  m.def("concurrency", [] {
    Turn const turn;
    return concurrency();
  });
  m.def("openmp_runtime", &openmp_runtime);

  nb::class_<Tensor>(m, "Tensor")
      .def_prop_ro("extents", &Tensor::extents)
      .def_prop_ro("nnz", &Tensor::nnz)
      .def_prop_ro("on_device", &Tensor::on_device)
      .def_prop_ro("coords",
                   [](Tensor const& tensor) { return to_python(during_turn(tensor, &Tensor::indices)); })
      .def_prop_ro("values",
                   [](Tensor const& tensor) { return to_python(during_turn(tensor, &Tensor::values)); });
  m.def("arrays_on_host", [](Tensor const& tensor) {
    Array const coords = during_turn(tensor, &Tensor::indices), values = during_turn(tensor, &Tensor::values);
    return nb::make_tuple(to_python(in_host_memory(coords)), to_python(in_host_memory(values)));
  });
  nb::class_<Format>(m, "Format")
      .def_prop_ro("on_device", &Format::on_device)
      .def_prop_ro("extents", &Format::extents)
      .def_prop_ro("nnz", &Format::nnz)
      .def_prop_ro("single", [](Format const& format) { return format.type() == Type::f32; })
      .def_prop_ro("chosen", &Format::chosen)
      .def_prop_ro("because", &Format::because)
      .def_prop_ro("warning", &Format::warning)
      .def_prop_ro("storage_bytes", &Format::storage_bytes)
      .def_prop_ro("rank", &Format::rank);

  m.def("wrap",
        [](std::vector<std::uint64_t> const& extents, AnyArray const& coords, AnyArray const& values) {
          Array const indices = from_python(coords, true), numbers = from_python(values, true);
          Turn const turn;
          return std::const_pointer_cast<Tensor>(wrap(extents, indices, numbers));
        });
  m.def("find_faults", [](Tensor const& tensor) {
    Faults faults;
    {
      Turn const turn;
      faults = find_faults(tensor);
    }
    return std::pair(faults.outside, faults.not_finite);
  });
  m.def("sum_duplicates", [](std::shared_ptr<Tensor> const& tensor) {
    Turn const turn;
    auto const summed = sum_duplicates(tensor);
    return std::pair(std::const_pointer_cast<Tensor>(summed.tensor), summed.duplicates);
  });
  m.def("build_format", [](std::shared_ptr<Tensor> const& tensor, std::uint64_t rank, double iterations,
                           std::string const& format, bool deterministic, bool ttmc) {
    auto const options = format_options(rank, iterations, format, deterministic, ttmc);
    Turn const turn;
    return std::const_pointer_cast<Format>(build_format(tensor, options));
  });

  m.def("compare_formats", [](std::shared_ptr<Tensor> const& tensor, std::uint64_t rank, double iterations,
                              std::string const& format, bool deterministic, bool measure) {
    auto const options = format_options(rank, iterations, format, deterministic, false);
    std::optional<FormatComparison> found;
    {
      Turn const turn;
      found = compare_formats(tensor, options, measure);
    }
    return to_python(*found);
  });

  m.def(
      "cp_als",
      [](std::shared_ptr<Tensor> const& tensor, nb::dict const& given, std::string const& format,
         bool deterministic, bool nvecs, std::vector<Strided> const& start, nb::object const& start_rows,
         nb::object callback) {
        auto const options = options_from<CpAlsOptions>(given);
        Start const begin{from_python(start), nvecs, rows_from(start_rows)};
        Watch watch(std::move(callback));
        FormatOptions wanted = format_options(16, 20, format, deterministic, false);
        wanted.between_steps = std::ref(watch);
        std::optional<CpResult> result;
        {
          Turn const turn;
          result = cp_als(tensor, options, wanted, begin, std::ref(watch));
        }
        return to_python(*result, watch);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "cp_als_format",
      [](std::shared_ptr<Format> const& format, nb::dict const& given, std::vector<Strided> const& start,
         nb::object const& start_rows, nb::object callback) {
        auto const options = options_from<CpAlsOptions>(given);
        Start const begin{from_python(start), false, rows_from(start_rows)};
        Watch watch(std::move(callback));
        std::optional<CpResult> result;
        {
          Turn const turn;
          result = cp_als(format, options, begin, std::ref(watch));
        }
        return to_python(*result, watch);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());

  m.def(
      "tucker",
      [](std::shared_ptr<Tensor> const& tensor, nb::dict const& given, bool hosvd,
         std::vector<Strided> const& start, nb::object const& start_rows, nb::object callback) {
        auto const options = options_from<TuckerOptions>(given);
        Start const begin{from_python(start), hosvd, rows_from(start_rows)};
        Watch watch(std::move(callback));
        std::optional<TuckerResult> result;
        {
          Turn const turn;
          result = tucker(tensor, options, begin, std::ref(watch), std::ref(watch));
        }
        nb::dict out;
        out["core"]      = to_python(result->core);
        out["factors"]   = to_python(result->factors);
        out["history"]   = history_of(result->history);
        out["fit"]       = result->fit;
        out["fit_error"] = result->fit_error;
        out["rows"]      = rows_to_python(result->rows);
        watch.add_to(out, result->reason);
        return out;
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());

  m.def(
      "fast_tucker",
      [](std::shared_ptr<Tensor> const& train, std::shared_ptr<Tensor> const& validation,
         std::shared_ptr<Tensor> const& test, nb::dict const& given, nb::object callback) {
        auto const options = options_from<FastTuckerOptions>(given);
        FormatOptions format;
        take(given, "format", format.format);
        take(given, "deterministic", format.deterministic);
        Watch watch(std::move(callback));
        format.between_steps    = std::ref(watch);
        format.continues_search = [&watch] { return watch.continues(); };
        std::optional<FastTuckerResult> result;
        {
          Turn const turn;
          result = fast_tucker(train, validation, test, options, format, std::ref(watch));
        }
        auto const& model = result->model;
        nb::dict out      = to_python(model);
        out["history"]    = history_of(result->history);
        out["kept_epoch"] = result->kept_epoch;
        out["row_fit"]    = to_python(std::optional<RowFit>(result->fit));
        out["choice"]     = nb::none();
        if (result->chose) {
          nb::dict choice;
          choice["learns"]     = result->learns;
          choice["biases"]     = to_python(result->chosen_biases);
          choice["model"]      = to_python(result->chosen_model);
          choice["candidates"] = result->candidates;
          choice["rank"]       = result->chosen_rank;
          choice["columns"]    = result->chosen_columns;
          choice["targets"]    = result->chosen_targets;
          choice["shrinkage"]  = nb::none();
          if (!result->chosen_shrinkage.empty()) choice["shrinkage"] = result->chosen_shrinkage;
          choice["ridge"] = nb::none();
          if (!result->chosen_ridge.empty()) choice["ridge"] = result->chosen_ridge[0];
          choice["ridge_per_entry"] = result->chosen_ridge_per_entry;
          choice["bias_damping"]    = result->chosen_bias_damping;
          choice["max_epochs"]      = result->chosen_epochs;
          choice["seconds"]         = result->seconds;
          choice["reason"]          = result->search_ended;
          nb::list rows;
          for (auto const& of_class : result->rows) {
            nb::dict entry;
            entry["mode"]   = of_class.mode;
            entry["least"]  = of_class.least;
            entry["biases"] = to_python(of_class.biases);
            entry["model"]  = to_python(of_class.model);
            entry["learns"] = of_class.learns;
            rows.append(entry);
          }
          choice["rows"] = rows;
          nb::list drift;
          for (std::size_t n = 0; n < result->chosen_bins.size(); ++n)
            drift.append(nb::make_tuple(result->chosen_bins[n], result->chosen_damping[n]));
          choice["drift"] = drift;
          out["choice"]   = choice;
        }
        watch.add_to(out, result->reason);
        return out;
      },
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg().none());

  m.def(
      "choose_implicit",
      [](std::shared_ptr<Tensor> const& kept, std::shared_ptr<Tensor> const& held, nb::dict const& given,
         bool keeps_alpha, int user_mode, int item_mode, std::uint64_t count, bool average_contexts,
         nb::object callback) {
        auto const options = options_from<FastTuckerOptions>(given);
        EvaluationOptions ranking;
        ranking.user_mode        = user_mode;
        ranking.item_mode        = item_mode;
        ranking.count            = count;
        ranking.average_contexts = average_contexts;
        Watch watch(std::move(callback));
        std::optional<ImplicitSearch> result;
        {
          Turn const turn;
          result = choose_implicit(kept, held, options, keeps_alpha, ranking, std::ref(watch),
                                   [&] { return watch.continues(); });
        }
        nb::dict out;
        out["candidates"]         = history_of(result->candidates);
        out["best"]               = result->best;
        out["seconds"]            = result->seconds;
        out["popular_ndcg"]       = result->popular_ndcg;
        out["popular_ndcg_error"] = result->popular_error;
        watch.add_to(out, result->reason);
        return out;
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg().none());
  m.def(
      "fold_in",
      [](nb::dict const& given, std::shared_ptr<Tensor> const& entries, std::shared_ptr<Tensor> const& added,
         nb::dict const& asked) {
        auto const model   = fast_tucker_model(given);
        auto const options = fold_in_options(asked);
        FastTuckerArrays folded;
        {
          Turn const turn;
          folded = fold_in(model, entries, added, options);
        }
        return to_python(folded);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  m.def("predict", [](nb::dict const& given, AnyArray const& places, Writable const& out) {
    auto const model  = fast_tucker_model(given);
    Array const where = from_python(places), predictions = from_python(out);
    Turn const turn;
    predict(model, where, predictions);
  });
  m.def(
      "model_values",
      [](std::vector<double> const& weights, std::vector<Strided> const& factors,
         std::vector<Strided> const& core, nb::object const& rows, AnyArray const& places,
         std::vector<AnyArray> const& given, Writable const& out) {
        ValuedArrays const model{weights, from_python(factors), from_python(core), rows_from(rows)};
        Array const where = from_python(places), numbers = from_python(out);
        std::vector<Array> values;
        for (auto const& array : given) values.push_back(from_python(array));
        Turn const turn;
        model_values(model, where, values.empty() ? nullptr : values.data(), numbers);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  m.def(
      "recommend",
      [](nb::dict const& given, int mode, OnHost const& queries, std::uint64_t count,
         std::shared_ptr<Tensor> const& seen) {
        auto const model  = fast_tucker_model(given);
        Array const asked = from_python(queries);
        std::optional<Ranked> found;
        {
          Turn const turn;
          found = recommend(model, mode, asked, count, seen);
        }
        return to_python(std::move(*found));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.attr("metric_names") = std::vector<std::string>(metric_names.begin(), metric_names.end());
  m.def(
      "evaluate",
      [](nb::dict const& given, std::shared_ptr<Tensor> const& test, std::shared_ptr<Tensor> const& seen,
         int user_mode, int item_mode, std::uint64_t count, double relevant, bool average_contexts,
         bool rank_seen, bool baselines, bool per_user, bool implicit_targets) {
        auto const model = fast_tucker_model(given);
        EvaluationOptions options;
        options.user_mode        = user_mode;
        options.item_mode        = item_mode;
        options.count            = count;
        options.relevant         = relevant;
        options.average_contexts = average_contexts;
        options.rank_seen        = rank_seen;
        options.baselines        = baselines;
        options.per_user         = per_user;
        options.implicit_targets = implicit_targets;
        std::optional<Evaluation> found;
        {
          Turn const turn;
          found = evaluate(model, test, options, seen);
        }
        return to_python(std::move(*found));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg(), nb::arg(), nb::arg(), nb::arg());
  m.def("similar", [](nb::dict const& given, int mode, OnHost const& rows, std::uint64_t count) {
    auto const model  = fast_tucker_model(given);
    Array const asked = from_python(rows);
    std::optional<Ranked> found;
    {
      Turn const turn;
      found = similar(model, mode, asked, count);
    }
    return to_python(std::move(*found));
  });

  m.def("mttkrp", [](std::shared_ptr<Format> const& format, std::vector<Strided> const& factors, int mode) {
    auto const matrices = from_python(factors);
    Array product;
    {
      Turn const turn;
      product = mttkrp(format, matrices, mode);
    }
    return to_python(product);
  });
  m.def("mttkrp_into", [](std::shared_ptr<Format> const& format, std::vector<Strided> const& factors,
                          int mode, Writable const& out) {
    auto const matrices = from_python(factors);
    Array const product = from_python(out);
    Turn const turn;
    mttkrp(format, matrices, mode, product);
  });
  m.attr("exact_inner") = exact_inner;
  m.def("project", [](std::shared_ptr<Format> const& format, std::vector<double> const& weights,
                      std::vector<Strided> const& factors,
                      std::vector<std::vector<double>> const& constraints, int mode) {
    auto const matrices = from_python(factors);
    Projection found;
    {
      Turn const turn;
      found = project(format, weights, matrices, constraints, mode);
    }
    return nb::make_tuple(to_python(found.rows), found.fit, found.objective);
  });
  m.def("ttm", [](std::shared_ptr<Tensor> const& tensor, Strided const& matrix, int mode) {
    Array const U = from_python(matrix);
    Turn const turn;
    return std::const_pointer_cast<Tensor>(ttm(tensor, U, mode));
  });
  m.def("ttmc", [](std::shared_ptr<Tensor> const& tensor, std::vector<Strided> const& matrices, int mode) {
    auto const U = from_python(matrices);
    Array product;
    {
      Turn const turn;
      product = ttmc(tensor, U, mode);
    }
    return to_python(product);
  });

  m.def("power_law",
        [](std::vector<std::uint64_t> const& extents, std::uint64_t nnz, std::vector<double> const& skew,
           std::uint64_t fiber_run, int run_mode, std::uint64_t seed, bool single) {
          Turn const turn;
          return std::const_pointer_cast<Tensor>(
              power_law(extents, nnz, skew, fiber_run, run_mode, seed, single ? Type::f32 : Type::f64));
        });
  m.def("planted", [](std::vector<std::uint64_t> const& extents, std::uint64_t rank, std::uint64_t block,
                      std::uint64_t seed, bool single) {
    std::optional<Planted> made;
    {
      Turn const turn;
      made = planted(extents, rank, block, seed, single ? Type::f32 : Type::f64);
    }
    return nb::make_tuple(std::const_pointer_cast<Tensor>(made->tensor), vector_of(made->weights),
                          to_python(made->factors));
  });

  // Files need no Kokkos.
  m.def("read_tensor", [](std::string const& path, int index_base, int index_base_of_text,
                          bool allow_non_finite, bool drop_zeros, int threads, std::string const& duplicates,
                          std::optional<std::uint64_t> max_memory, std::string const& delimiter,
                          std::optional<bool> header, std::vector<std::string> const& columns,
                          std::string const& value, std::string const& time, std::string const& time_unit) {
    std::optional<io::TensorFile> file;
    std::uint64_t merged = 0;
    {
      nb::gil_scoped_release const released;
      io::ReadOptions options;
      options.index_base         = index_base;
      options.index_base_of_text = index_base_of_text;
      options.allow_non_finite   = allow_non_finite;
      options.drop_zeros         = drop_zeros;
      options.threads            = threads;
      options.memory_bytes       = max_memory;
      if (!delimiter.empty()) options.table.delimiter = io::delimiter(delimiter);
      options.table.header  = header;
      options.table.columns = columns;
      options.table.value   = value;
      options.table.time    = time;
      if (!time_unit.empty()) options.table.time_unit = io::time_unit(time_unit);
      file = io::read_tensor(path, options);
      if (duplicates == "sum") merged = io::merge_duplicates(file->tensor, io::Duplicates::sum);
      if (duplicates == "last") merged = io::merge_duplicates(file->tensor, io::Duplicates::last);
      if (duplicates == "error")
        if (auto const pair = io::first_duplicate(file->tensor))
          throw InputError(path, 0, 0,
                           "nonzero " + std::to_string(pair->later + 1) + " repeats the indices of nonzero " +
                               std::to_string(pair->earlier + 1));
    }
    return nb::make_tuple(arrays_of(std::move(file->tensor)),
                          std::string(io::to_string(file->report.dialect)), merged,
                          row_names_to_python({file->report.knows_index_base ? file->report.index_base : -1,
                                               std::move(file->labels)}),
                          file->report.table ? io::describe(*file->report.table) : std::string(),
                          file->report.table ? file->report.table->left_out : std::vector<std::string>(),
                          file->report.values_look_like_times);
  });
  m.def("write_tensor", [](std::string const& path, Tensor const& tensor, std::string const& dialect,
                           bool single, bool packed, nb::tuple const& given_names) {
    io::WriteOptions options;
    auto names         = row_names_from(given_names);
    options.index_base = names.index_base;
    options.labels     = std::move(names.labels);
    nb::gil_scoped_release const released;
    if (!dialect.empty()) {
      options.dialect = io::writable_dialect(dialect);
      if (!options.dialect) throw UsageError("no dialect '" + dialect + "' that can be written");
    }
    options.single_precision = single;
    options.packed           = packed;
    io::write_tensor(path, list_of(tensor), options);
  });
  m.def("is_model_file", [](std::string const& path) { return io::is_model_file(path); });
  m.def(
      "write_model",
      [](std::string const& path, Vector const& weights, std::vector<Matrix> const& factors,
         nb::object const& rows, bool single, nb::tuple const& names,
         std::vector<std::vector<double>> const& constraints) {
        auto model  = host_model(weights, factors, rows);
        model.names = row_names_from(names);
        for (auto const& c : constraints) model.constraints.push_back({c.at(0), c.at(1), c.at(2), c.at(3)});
        io::write_model(path, model, single);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  // The file is opened once: it may be a pipe.
  m.def("load_model", [](std::string const& path) {
    io::InputFile file(path);
    switch (file.kind()) {
      case io::InputFile::Kind::fast_tucker_model:
        return nb::make_tuple("fast_tucker", fast_tucker_to_python(file.read_fast_tucker()));
      case io::InputFile::Kind::tucker_model:
        return nb::make_tuple("tucker", tucker_to_python(file));
      default:
        return nb::make_tuple("cp", cp_to_python(file.read_model()));
    }
  });
  m.def(
      "match_score",
      [](Vector const& a_weights, std::vector<Matrix> const& a_factors, nb::object const& a_rows,
         Vector const& b_weights, std::vector<Matrix> const& b_factors, nb::object const& b_rows) {
        auto const score = io::match_score(host_model(a_weights, a_factors, a_rows),
                                           host_model(b_weights, b_factors, b_rows));
        return nb::make_tuple(score.score, score.weighted, score.partner);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none());
  m.def(
      "fit_of_model",
      [](Tensor const& tensor, Vector const& weights, std::vector<Matrix> const& factors,
         nb::object const& rows) {
        auto const model = host_model(weights, factors, rows);
        nb::gil_scoped_release const released;
        return io::fit_of_model(list_of(tensor), model);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def(
      "fit_of_tucker",
      [](Tensor const& tensor, std::vector<std::uint64_t> const& ranks, Vector const& core,
         std::vector<Matrix> const& factors, nb::object const& rows) {
        io::HostTucker model;
        model.ranks   = ranks;
        model.core    = numbers_of(core);
        model.rows    = rows_from(rows);
        model.extents = extents_of(factors, model.rows);
        for (auto const& factor : factors) model.factors.push_back(numbers_of(factor));
        nb::gil_scoped_release const released;
        return io::fit_of_model(list_of(tensor), model);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("hold_out", [](Tensor const& tensor, double share, std::uint64_t seed) {
    std::optional<std::pair<io::CoordinateList, io::CoordinateList>> parts;
    {
      nb::gil_scoped_release const released;
      parts = io::hold_out(list_of(tensor), share, seed);
    }
    return nb::make_tuple(arrays_of(std::move(parts->first)), arrays_of(std::move(parts->second)));
  });
  m.def("split", [](Tensor const& tensor, std::string const& by, double share, int mode, int time_mode,
                    bool one_of_ties, std::uint64_t seed) {
    io::SplitOptions options;
    options.rule        = io::split_rule(by);
    options.share       = share;
    options.mode        = mode;
    options.time_mode   = time_mode;
    options.one_of_ties = one_of_ties;
    options.seed        = seed;
    std::optional<io::Split> parts;
    {
      nb::gil_scoped_release const released;
      parts = io::split(list_of(tensor), options);
    }
    return nb::make_tuple(arrays_of(std::move(parts->kept)), arrays_of(std::move(parts->held)));
  });
  m.def("write_fast_tucker",
        [](std::string const& path, std::vector<Matrix> const& factors, std::vector<Matrix> const& cores,
           std::vector<Vector> const& biases, int time_mode, std::vector<Matrix> const& drifts, double mean,
           double lowest, double highest, bool single, std::vector<nb::object> const& observed,
           nb::tuple const& names, std::optional<nb::dict> const& fit) {
          auto model     = host_fast_tucker(factors, cores, biases, time_mode, drifts, mean, lowest, highest);
          model.observed = observed_from(observed);
          model.names    = row_names_from(names);
          if (fit) model.fit = row_fit_from(*fit);
          io::write_fast_tucker(path, model, single);
        });
  m.def(
      "write_arrays",
      [](std::string const& path,
         std::map<std::string, nb::ndarray<double const, nb::c_contig, nb::device::cpu>> const& arrays,
         nb::object const& rows, bool single, nb::tuple const& names) {
        std::map<std::string, io::HostArray> host;
        for (auto const& [name, array] : arrays) {
          auto& to = host[name];
          for (std::size_t k = 0; k < array.ndim(); ++k) to.shape.push_back(array.shape(k));
          to.elements = numbers_of(array);
        }
        io::write_arrays_npz(path, host, single, rows_from(rows), row_names_from(names));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}
