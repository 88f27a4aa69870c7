// SPDX-License-Identifier: BSD-3-Clause
// The options in a checkpoint of fast_tucker keep the text that version 0.2 wrote, so that its files can be
// resumed.
#include <string>

#include "fast_tucker/resume.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

TEST_CASE("asked_text is that of earlier versions", "[fast_tucker]") {
  FastTuckerOptions options;
  options.rank      = 2;
  options.shrinkage = Shrinkage{5, 0.05, 1000};
  CHECK(detail::asked_text(options) ==
        "rank 2; columns ; biases 1; sweeps of biases 10; damping of biases 5; time mode -1; drift ; seed 0; "
        "optimizer als; shrinkage 5,0.050000000000000003,1000; targets ; ridge per entry 0; core ridge 0; "
        "core updates 1; range -inf,inf; patience 0");

  options                  = {};
  options.rank             = 3;
  options.columns          = {2, 3, 4};
  options.optimizer        = FastTuckerOptimizer::sgd;
  options.core_ridge       = 0.5;
  options.update_cores     = false;
  options.sgd.share_fibers = false;
  options.range            = {1, 5};
  CHECK(
      detail::asked_text(options) ==
      "rank 3; columns 2,3,4; biases 1; sweeps of biases 10; damping of biases 5; time mode -1; drift ; seed "
      "0; optimizer sgd; targets ; ridge per entry 0; core ridge 0.5; core updates 0; rates "
      "0.01,0.10000000000000001,0.10000000000000001,1,0; range 1,5; patience 0");

  options                = {};
  options.rank           = 3;
  options.biases         = false;
  options.optimizer      = FastTuckerOptimizer::adam;
  options.bias.time_mode = 2;
  options.bias.drift     = {{3, 30}, {0, 10}};
  options.targets        = {RowTarget::zero, RowTarget::one, RowTarget::left_out};
  options.ridge          = 2.5;
  CHECK(detail::asked_text(options) ==
        "rank 3; columns ; biases 0; sweeps of biases 10; damping of biases 5; time mode 2; drift 3/30,0/10; "
        "seed 0; optimizer adam; targets 0,1,2; ridge 2.5; ridge per entry 0; core ridge 0; core updates 1; "
        "rates 0.01,0.90000000000000002,0.999,1e-08; range -inf,inf; patience 0");
}

}  // namespace
}  // namespace polyad::test
