// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run/lost_ranks.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/report/host_facts.hpp"
#include "cli/run/ranks.hpp"

namespace polyad::cli {

namespace {

struct Process {
  ::pid_t id;
  std::string line;  // says that it is gone
};

// The ranks of this machine, in their order. Does not change once `watched` is set. Never destroyed: the
// signal may come while the process exits.
std::vector<Process>& processes    = *new std::vector<Process>;
std::sig_atomic_t volatile watched = 0;
std::sig_atomic_t volatile ended   = 0;  // by a rank that has said why

extern "C" void remember_end(int) {
  ended = 1;
}

bool is_there(::pid_t process) noexcept {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

void watch_ranks() {
  if (ranks().size == 1 || watched != 0) return;
  // SIGURG, which batch systems do not send. Before any rank knows this one's number.
  std::signal(SIGURG, remember_end);
  std::uint64_t const machine = std::hash<std::string>()(host_name());
  auto const all              = of_all_ranks({machine, static_cast<std::uint64_t>(::getpid())});
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto const process = static_cast<::pid_t>(all[k][1]);
    // Ranks in containers of their own do not see each other.
    if (all[k][0] == machine && is_there(process))
      processes.push_back({process, "polyad: rank " + std::to_string(k) +
                                        ": its process was killed, which ends all ranks\n"});
  }
  watched = 1;
}

void name_lost_ranks() noexcept {
  if (watched == 0 || ended != 0) return;
  int const before = errno;
  // The first rank that is left speaks.
  auto const speaker = std::ranges::find_if(processes, is_there, &Process::id);
  if (speaker == processes.end() || speaker->id == ::getpid())
    for (auto const& process : processes)
      if (!is_there(process.id))
        static_cast<void>(!::write(STDERR_FILENO, process.line.data(), process.line.size()));
  errno = before;
}

void end_watch() noexcept {
  watched = 0;
}

void end_watch_of_all() noexcept {
  if (watched == 0) return;
  for (auto const& process : processes)
    if (process.id != ::getpid()) ::kill(process.id, SIGURG);
}

}  // namespace polyad::cli
