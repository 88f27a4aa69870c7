// SPDX-License-Identifier: BSD-3-Clause
// Free memory of the host, on folders that look like /proc and the files of control groups.
#include "core/host_memory.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "io/temporary_folder.hpp"
#include "polyad/core/error.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using detail::available_host_memory;

constexpr std::uint64_t nothing_known = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t mib           = std::uint64_t{1} << 20;

/// A machine of 1000 MiB, 800 of them free.
class Machine {
public:
  Machine() {
    put("proc/meminfo",
        "MemTotal:        1024000 kB\nMemFree:           1024 kB\nMemAvailable:     819200 kB\n");
    put("proc/self/status",
        "Name:\tpolyad\nVmPeak:\t  204800 kB\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
    limits("unlimited", "unlimited");
  }
  void put(std::string const& name, std::string const& content) const {
    auto const path = m_folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  void limits(std::string const& data, std::string const& address_space) const {
    put("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max cpu time              unlimited            unlimited            seconds   \n"
        "Max data size             " +
            data +
            "            unlimited            bytes     \n"
            "Max stack size            8388608              unlimited            bytes     \n"
            "Max address space         " +
            address_space + "            unlimited            bytes     \n");
  }
  /// A group of version 2 in MiB; no limit is -1.
  void group(std::string const& folder, int limit, int usage, int inactive) const {
    put(folder + "/memory.max", limit < 0 ? "max\n" : bytes(limit) + '\n');
    put(folder + "/memory.current", bytes(usage) + '\n');
    put(folder + "/memory.stat",
        "anon 4096\nfile 4096\ninactive_file " + bytes(inactive) + "\nactive_file 1\n");
  }
  /// The same for version 1.
  void first_group(std::string const& folder, std::string const& limit, int usage, int inactive,
                   std::string const& above = "9223372036854771712") const {
    put(folder + "/memory.limit_in_bytes", limit + '\n');
    put(folder + "/memory.usage_in_bytes", bytes(usage) + '\n');
    put(folder + "/memory.stat", "cache 4096\ninactive_file 0\nhierarchical_memory_limit " + above +
                                     "\ntotal_inactive_file " + bytes(inactive) + '\n');
  }
  static std::string bytes(int count) { return std::to_string(static_cast<std::uint64_t>(count) * mib); }
  [[nodiscard]] std::uint64_t free_mib() const {
    std::uint64_t const bytes = available_host_memory(m_folder / "");
    REQUIRE(bytes % mib == 0);
    return bytes / mib;
  }
  [[nodiscard]] std::filesystem::path root() const { return m_folder / ""; }

private:
  TemporaryFolder m_folder;
};

constexpr auto mount_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr auto mount_1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 master:1 - cgroup cgroup rw,memory\n";

TEST_CASE("host memory: what the system says is free", "[core]") {
  Machine const machine;
  CHECK(machine.free_mib() == 800);
  TemporaryFolder const empty;
  CHECK(available_host_memory(empty / "") == nothing_known);
}

TEST_CASE("host memory: limits of the process", "[core]") {
  Machine const machine;
  machine.limits(Machine::bytes(150), "unlimited");
  CHECK(machine.free_mib() == 100);  // VmData is 50 MiB
  machine.limits("unlimited", Machine::bytes(150));
  CHECK(machine.free_mib() == 50);  // VmSize is 100 MiB
  machine.limits(Machine::bytes(120), Machine::bytes(150));
  CHECK(machine.free_mib() == 50);
  machine.limits("unlimited", Machine::bytes(99));
  CHECK(machine.free_mib() == 0);
}

TEST_CASE("host memory: the tightest control group of version 2 and its ancestors", "[core]") {
  Machine const machine;
  machine.put("proc/self/cgroup", "0::/a/b/c\n");
  machine.put("proc/self/mountinfo", mount_2);
  CHECK(machine.free_mib() == 800);  // no files: nothing is limited
  machine.group("sys/fs/cgroup/a/b/c", -1, 10, 0);
  CHECK(machine.free_mib() == 800);
  machine.group("sys/fs/cgroup/a/b/c", 400, 150, 50);
  CHECK(machine.free_mib() == 300);
  machine.group("sys/fs/cgroup/a", 500, 300, 40);
  CHECK(machine.free_mib() == 240);
  machine.group("sys/fs/cgroup/a/b", 100, 300, 40);
  CHECK(machine.free_mib() == 0);
  machine.group("sys/fs/cgroup/a/b", 100, 30, 40);  // more inactive than used
  CHECK(machine.free_mib() == 100);
  machine.group("sys/fs/cgroup", 90, 10, 0);
  CHECK(machine.free_mib() == 80);
  machine.group("sys/fs/cgroup/a/b/c/d", 5, 0, 0);  // a child's limit is not ours
  CHECK(machine.free_mib() == 80);
}

TEST_CASE("host memory: control groups in a container", "[core]") {
  Machine const machine;
  // A namespace of its own: the group is the root of what is seen.
  machine.put("proc/self/cgroup", "0::/\n");
  machine.put("proc/self/mountinfo", mount_2);
  machine.group("sys/fs/cgroup", 400, 100, 0);
  CHECK(machine.free_mib() == 300);
  // Without one: what is mounted is the group, and paths are the host's.
  machine.put("proc/self/cgroup", "0::/docker/1f/x\n");
  machine.put("proc/self/mountinfo", "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  machine.group("sys/fs/cgroup/x", 200, 100, 0);
  CHECK(machine.free_mib() == 100);
  // A group outside what is mounted: the mount's is the best that is known.
  machine.put("proc/self/cgroup", "0::/../other\n");
  CHECK(machine.free_mib() == 300);
  machine.put("proc/self/mountinfo", "30 23 0:26 / /mnt/control\\040groups rw - cgroup2 cgroup rw\n");
  machine.put("proc/self/cgroup", "0::/deep\n");
  machine.group("mnt/control groups/deep", 60, 20, 0);
  CHECK(machine.free_mib() == 40);
}

TEST_CASE("host memory: control groups of version 1", "[core]") {
  Machine const machine;
  machine.put("proc/self/cgroup", "5:devices:/other\n4:memory:/a/b\n2:cpu,cpuacct:/tight\n0::/\n");
  machine.put("proc/self/mountinfo",
              std::string(mount_1) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 x rw\n");
  machine.first_group("sys/fs/cgroup/memory/a/b", "9223372036854771712", 200, 0);
  CHECK(machine.free_mib() == 800);
  machine.first_group("sys/fs/cgroup/cpu/tight", Machine::bytes(10), 0, 0);
  CHECK(machine.free_mib() == 800);
  machine.first_group("sys/fs/cgroup/memory/a/b", Machine::bytes(500), 200, 100);
  CHECK(machine.free_mib() == 400);
  machine.first_group("sys/fs/cgroup/memory/a", Machine::bytes(300), 200, 0);
  CHECK(machine.free_mib() == 100);
  // An ancestor that cannot be seen.
  machine.first_group("sys/fs/cgroup/memory/a/b", Machine::bytes(500), 200, 150, Machine::bytes(120));
  CHECK(machine.free_mib() == 70);
}

TEST_CASE("host memory: what cannot be understood is unknown", "[core]") {
  Machine const machine;
  machine.put("proc/self/cgroup", "0::/a\n:\n::\n4:memory\nmemory:/a\n0:memory:\n");
  machine.put("proc/self/mountinfo",
              std::string("x\n1 2 3 4 5 6 - cgroup2\n- cgroup2 a b\n1 2 3 - cgroup2 a b c d\n") + mount_2);
  machine.put("sys/fs/cgroup/a/memory.max", "\n");
  machine.put("sys/fs/cgroup/a/memory.current", "-5\n");
  machine.put("sys/fs/cgroup/a/memory.stat", "inactive_file\ninactive_file x\n");
  CHECK(machine.free_mib() == 800);
  machine.put("sys/fs/cgroup/a/memory.max", "99999999999999999999999999\n");  // beyond 64 bits
  CHECK(machine.free_mib() == 800);
  machine.put("proc/meminfo", "MemAvailable: 99999999999999999999 kB\n");
  machine.put("proc/self/limits", std::string("Max data size\0\xff\n", 16) + "Max address space");
  machine.put("proc/self/status", "VmSize: 18446744073709551615 kB\n");
  CHECK(available_host_memory(machine.root()) == nothing_known);
}

TEST_CASE("host memory: this process' own limit is met", "[core]") {
  CHECK(available_host_memory() > mib);
  CHECK(available_host_memory() < nothing_known);
  pid_t const child = ::fork();
  if (child == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = 0;  // all of VmData is beyond it
    ::setrlimit(RLIMIT_DATA, &limit);
    // Nothing can be mapped any more; what is asked for here comes from the heap that there is.
    ::_exit(available_host_memory() == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("host memory: an array that does not fit is refused with its name", "[core]") {
  CHECK_NOTHROW(detail::expect_fits_host("a", 100));
  CHECK_NOTHROW(detail::expect_fits_host("a", mib));
  try {
    detail::expect_fits_host("a list", mib << 30);
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.array() == "a list");
    CHECK(error.bytes() == mib << 30);
  }
}

}  // namespace
}  // namespace polyad::test
