// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/session.hpp"

#include <Kokkos_Core.hpp>
#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <ostream>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/format_choice/machine.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::cli {

namespace {

using Space = Kokkos::DefaultExecutionSpace;

// Values of the last session, for the report, which is written after its end.
std::optional<std::uint64_t> device_peak;

Kokkos::InitializationSettings settings(int threads, bool verbose) {
  Kokkos::InitializationSettings result;
  if (threads == 0) threads = threads_of_rank();
  if (threads > 0) result.set_num_threads(threads);
  auto const devices = static_cast<int>(probe_device().addresses.size());
  if (ranks().size > 1 && devices > 0) result.set_device_id(ranks().local_rank % devices);
  result.set_disable_warnings(!verbose);
  return result;
}

std::uint64_t stack_bytes() {
  std::size_t bytes = 0;
  ::pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_destroy(&attributes);
  return bytes;
}

/// Each thread that allocates may reserve 64 MiB of addresses for itself. If addresses are limited, the stack
/// of the next thread needs them.
void share_reserves_if_limited() {
#ifdef M_ARENA_MAX
  ::rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    ::mallopt(M_ARENA_MAX, 1);
#endif
}

/// Starts and ends the threads that Kokkos is about to start. Does nothing on a backend without threads.
/// OpenMP itself would end the process with status 1 and a message of its own where it cannot start a thread,
/// often because its stack does not fit: the run would have no report, and scripts could not tell it from a
/// crash.
/// \param threads  0 for OpenMP's default
/// \throws MemoryError if the system does not start that many
void expect_threads([[maybe_unused]] int threads) {
  std::uint64_t count = 1;
#ifdef KOKKOS_ENABLE_OPENMP
  // To count them, Kokkos first starts as many threads as OpenMP allows, whatever number it is given.
  if (threads > 0 && threads < ::omp_get_max_threads()) ::omp_set_num_threads(threads);
  count = threads > 0 ? threads : ::omp_get_max_threads();
#endif
  if (count == 1) return;
  share_reserves_if_limited();
  // This thread has its stack. The room of one more, and of one in 32, is for what else Kokkos allocates.
  auto const tried = count + count / 32;
  std::latch all_started(1);
  std::vector<std::jthread> others;
  try {
    others.reserve(tried);
    while (others.size() < tried) others.emplace_back([&] { all_started.wait(); });
    all_started.count_down();
  } catch (std::system_error const& error) {
    all_started.count_down();
    throw MemoryError("a stack for each of " + std::to_string(count) + " threads", count * stack_bytes(),
                      error.code().message() + "; --threads takes fewer");
  } catch (...) {
    all_started.count_down();
    throw;
  }
}

}  // namespace

// If a launcher binds ranks to cores of their own, those are the threads. Otherwise the ranks of a machine
// share its cores.
int threads_of_rank() {
  if (ranks().size == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return 0;
  auto const usable = static_cast<long>(std::thread::hardware_concurrency());
  if (usable < ::sysconf(_SC_NPROCESSORS_ONLN)) return 0;
  return static_cast<int>(std::max(1L, usable / ranks().local_size));
}

struct Session::State {
  State(Kokkos::InitializationSettings const& settings, std::optional<std::uint64_t> device_memory)
      : scope(settings) {
    if (runs_on_device() || device_memory) account.emplace(device_memory);
  }
  ~State() {
    if (account && account->counts()) device_peak = account->peak();
  }
  Kokkos::ScopeGuard scope;
  std::optional<DeviceMemoryAccount> account;
};

Session::Session(CommonOptions const& common, Report& report, std::optional<std::uint64_t> device_memory) {
  expect_usable_device();
  auto const chosen = settings(common.threads, common.verbose);
  expect_threads(chosen.has_num_threads() ? chosen.get_num_threads() : 0);
  m_state = std::make_unique<State>(chosen, device_memory);
  catch_device_failures();
  DeviceFacts const facts = probe_device();
  report.backend =
      BackendReport{facts.backend, Space().concurrency(), facts.accelerator ? facts.name : processor_name()};
}

Session::~Session() = default;

void Session::print_configuration(std::ostream& out) const {
  Kokkos::print_configuration(out, true);
}

RunSession::RunSession(CommonOptions const& common, Report& report,
                       std::optional<std::uint64_t> device_memory)
    : m_common(common), m_report(report), m_device_memory(device_memory) {
  if (ranks().size > 1) begin();
}

void RunSession::begin() {
  if (!m_session) m_session.emplace(m_common, m_report, m_device_memory);
}

MemoryReport peak_memory() {
  return {peak_memory_bytes(), device_peak, {}};
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
         std::to_string(KOKKOS_VERSION % 100);
}

}  // namespace polyad::cli
