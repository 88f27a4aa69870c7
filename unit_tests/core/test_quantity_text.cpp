// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/quantity_text.hpp"

#include "support/catch.hpp"

namespace polyad {

TEST_CASE("Bytes and durations read well", "[quantity_text]") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(9999) == "9999 B");
  CHECK(bytes_text(10000) == "10 kB");
  CHECK(bytes_text(1234567) == "1.23 MB");
  CHECK(bytes_text(150'000'000'000) == "150 GB");
  CHECK(bytes_text(~std::uint64_t(0)) == "1.84e+07 TB");
  CHECK(duration_text(0) == "0 us");
  CHECK(duration_text(8.5e-4) == "850 us");
  CHECK(duration_text(0.0123) == "12.3 ms");
  CHECK(duration_text(12.34) == "12.3 s");
  CHECK(duration_text(245) == "4 min 05 s");
  CHECK(duration_text(12000) == "3 h 20 min");
}

}  // namespace polyad
