// SPDX-License-Identifier: BSD-3-Clause
// failing_memory.hpp for LD_PRELOAD, and for ctypes of a Python process.
#include "torture/failing_memory.hpp"

extern "C" {

void polyad_find_codecs() {
  polyad::torture::find_codecs();
}
void polyad_arm(unsigned long long number) {
  polyad::torture::arm(number);
}
unsigned long long polyad_disarm() {
  return polyad::torture::disarm();
}
int polyad_failed() {
  return polyad::torture::failed() ? 1 : 0;
}
int polyad_spared() {
  return polyad::torture::spared() ? 1 : 0;
}
void polyad_print_failed() {
  polyad::torture::print_failed();
}
long long polyad_live_blocks() {
  return polyad::torture::live_blocks();
}

}  // extern "C"
