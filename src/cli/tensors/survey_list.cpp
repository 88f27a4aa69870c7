// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/survey_list.hpp"

#include <span>
#include <type_traits>
#include <variant>

namespace polyad::cli {

TensorSurvey survey_list(io::CoordinateList const& list, int threads) {
  return std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        return survey_tensor<Index>(list.extents, std::span<Index const>(indices.data(), indices.size()),
                                    threads);
      },
      list.indices);
}

}  // namespace polyad::cli
