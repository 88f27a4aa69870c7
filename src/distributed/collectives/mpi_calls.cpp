// SPDX-License-Identifier: BSD-3-Clause
// MpiScope and MpiApi by MPI. This is the only file that includes mpi.h.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <string>
#include <vector>

#include "distributed/collectives/mpi_api.hpp"
#include "polyad/core/error.hpp"

namespace polyad {

namespace detail {
namespace {

void expect(int status, char const* call) {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, ' ');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  text.resize(length);
  throw BackendError(std::string(call) + " failed: " + text);
}

MPI_Datatype type_of(ElementType type) {
  switch (type) {
    case ElementType::u32:
      return MPI_UINT32_T;
    case ElementType::u64:
      return MPI_UINT64_T;
    case ElementType::f32:
      return MPI_FLOAT;
    case ElementType::f64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

bool is_running() {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  if (begun != 0) MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

/// On a communicator of its own, so that the messages do not mix with the program's.
class MpiCalls final : public MpiApi {
public:
  explicit MpiCalls(MPI_Comm comm) : m_comm(comm) {
    expect(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    expect(MPI_Comm_rank(comm, &m_rank), "MPI_Comm_rank");
    expect(MPI_Comm_size(comm, &m_size), "MPI_Comm_size");
  }
  ~MpiCalls() override {
    if (is_running()) MPI_Comm_free(&m_comm);
  }
  MpiCalls(MpiCalls const&)            = delete;
  MpiCalls& operator=(MpiCalls const&) = delete;

  [[nodiscard]] int rank() const override { return m_rank; }
  [[nodiscard]] int size() const override { return m_size; }

  void all_reduce(void* data, int count, ElementType type) override {
    expect(MPI_Allreduce(MPI_IN_PLACE, data, count, type_of(type), MPI_SUM, m_comm), "MPI_Allreduce");
  }
  void reduce(void const* data, void* sum, int count, int root, ElementType type) override {
    expect(MPI_Reduce(data, sum, count, type_of(type), MPI_SUM, root, m_comm), "MPI_Reduce");
  }
  void reduce_scatter(void const* data, void* own, std::span<int const> parts, ElementType type) override {
    expect(MPI_Reduce_scatter(data, own, parts.data(), type_of(type), MPI_SUM, m_comm), "MPI_Reduce_scatter");
  }
  void all_gather(void* data, std::span<int const> parts, std::span<int const> begins,
                  ElementType type) override {
    expect(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, parts.data(), begins.data(),
                          type_of(type), m_comm),
           "MPI_Allgatherv");
  }
  void broadcast(void* data, int count, int root, ElementType type) override {
    expect(MPI_Bcast(data, count, type_of(type), root, m_comm), "MPI_Bcast");
  }
  void begin_send(void const* data, int count, int to, ElementType type) override {
    expect(MPI_Isend(data, count, type_of(type), to, tag, m_comm, &m_requests.emplace_back()), "MPI_Isend");
  }
  void begin_receive(void* data, int count, int from, ElementType type) override {
    expect(MPI_Irecv(data, count, type_of(type), from, tag, m_comm, &m_requests.emplace_back()), "MPI_Irecv");
  }
  void wait() override {
    expect(MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE),
           "MPI_Waitall");
    m_requests.clear();
  }
  [[nodiscard]] std::unique_ptr<MpiApi> split(int color, int key) override {
    MPI_Comm part = MPI_COMM_NULL;
    expect(MPI_Comm_split(m_comm, color, key, &part), "MPI_Comm_split");
    return std::make_unique<MpiCalls>(part);
  }

private:
  static constexpr int tag = 27;

  MPI_Comm m_comm;
  int m_rank = 0;
  int m_size = 1;
  std::vector<MPI_Request> m_requests;
};

}  // namespace

std::unique_ptr<MpiApi> mpi_calls(std::optional<int> fortran) {
  if (!is_running()) throw BackendError("MPI was not started, or was ended: make an MpiScope first");
  MPI_Comm const of = fortran ? MPI_Comm_f2c(static_cast<MPI_Fint>(*fortran)) : MPI_COMM_WORLD;
  MPI_Comm own      = MPI_COMM_NULL;
  expect(MPI_Comm_dup(of, &own), "MPI_Comm_dup");
  return std::make_unique<MpiCalls>(own);
}

bool mpi_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  // MPICH and its derivatives have no such query; their switches are environment variables.
  for (char const* const name : {"MPICH_GPU_SUPPORT_ENABLED", "MV2_USE_CUDA"}) {
    char const* const value = std::getenv(name);
    if (value != nullptr && std::string(value) == "1") return true;
  }
  return false;
#endif
}

}  // namespace detail

bool mpi_is_built() noexcept {
  return true;
}

std::string mpi_version() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, ' ');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(length);
  return text.substr(0, text.find_first_of(",\n"));
}

MpiScope::MpiScope() {
  using detail::expect;
  if (!detail::is_running()) {
    int given = 0;
    expect(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "MPI_Init_thread");
    m_started = true;
  }
  expect(MPI_Comm_rank(MPI_COMM_WORLD, &m_rank), "MPI_Comm_rank");
  expect(MPI_Comm_size(MPI_COMM_WORLD, &m_size), "MPI_Comm_size");
  MPI_Comm machine = MPI_COMM_NULL;
  expect(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, m_rank, MPI_INFO_NULL, &machine),
         "MPI_Comm_split_type");
  expect(MPI_Comm_rank(machine, &m_local_rank), "MPI_Comm_rank");
  expect(MPI_Comm_size(machine, &m_local_size), "MPI_Comm_size");
  expect(MPI_Comm_free(&machine), "MPI_Comm_free");
}

MpiScope::~MpiScope() {
  if (m_started && detail::is_running()) MPI_Finalize();
}

void MpiScope::abort(int exit_code) const {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace polyad
