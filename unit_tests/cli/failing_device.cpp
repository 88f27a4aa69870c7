// SPDX-License-Identifier: BSD-3-Clause
// Loaded before the tool, it lets the device fail in mid-run: once the file that POLYAD_FAIL_AFTER names is
// there, a kernel writes to address 0 in the context that the tool uses.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

// The driver's functions, of the library that the tool itself has loaded.
extern "C" {
int cuInit(unsigned flags);
int cuDeviceGet(int* device, int number);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuModuleLoadData(void** module, void const* image);
int cuModuleGetFunction(void** function, void* module, char const* name);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                   void** more);
}

namespace {

constexpr auto kernel_text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry fail()
{
  .reg .u64 %address;
  .reg .u32 %value;
  mov.u64 %address, 0;
  mov.u32 %value, 1;
  st.global.u32 [%address], %value;
  ret;
}
)";

void expect(int status) {
  if (status == 0) return;
  std::fprintf(stderr, "the failing kernel was not launched: %d\n", status);
  std::_Exit(99);
}

void fail_after(char const* path) {
  while (::access(path, F_OK) != 0) ::usleep(1000);
  int device    = 0;
  void* context = nullptr;
  void* module  = nullptr;
  void* fail    = nullptr;
  expect(cuInit(0));
  expect(cuDeviceGet(&device, 0));
  expect(cuDevicePrimaryCtxRetain(&context, device));
  expect(cuCtxSetCurrent(context));
  expect(cuModuleLoadData(&module, kernel_text));
  expect(cuModuleGetFunction(&fail, module, "fail"));
  expect(cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

[[gnu::constructor]] void start() {
  if (char const* path = std::getenv("POLYAD_FAIL_AFTER")) std::thread(fail_after, path).detach();
}

}  // namespace
