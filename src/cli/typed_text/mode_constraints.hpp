// SPDX-License-Identifier: BSD-3-Clause
// Bounds and penalties of modes as they are typed: --nonnegative, --nonnegative=2,3, --lower=0:-1, --l1=0.1,
// --l1=item:0.1.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "polyad/tensor/constraints.hpp"

namespace polyad::cli {

struct ModePenalty {
  std::optional<int> mode;  // counts from 0; none: all modes that have no penalty of their own
  double penalty   = 0;     // or a bound
  std::string name = {};    // the name that was typed for a mode whose number is not known yet
};

/// An option that takes X, or MODE:X.
struct TypedNumbers {
  char const* option;
  double Constraints::* member;  // that a number sets
  bool may_be_negative             = false;
  std::vector<std::string> texts   = {};
  std::vector<ModePenalty> numbers = {};
};

struct TypedConstraints {
  // As typed.
  std::string nonnegative_text;  // "all", or modes; empty: not given
  std::vector<std::string> fixed_texts;
  TypedNumbers lower{"--lower", &Constraints::lower, true}, upper{"--upper", &Constraints::upper, true},
      l1{"--l1", &Constraints::l1}, ridge{"--ridge", &Constraints::ridge};
  // The meaning of the texts, without the modes that are given by name.
  bool all_nonnegative = false;
  std::vector<int> nonnegative;
  std::vector<int> fixed;  // modes whose factors stay as they are
};

/// Reads the texts. \throws UsageError for a text without meaning, and for two texts for one mode
void read_texts(TypedConstraints& typed);

/// Replaces names of modes by numbers in the texts, and reads them again.
/// \param number_of  returns the number of the mode of a name; it is called for each name in the order of the
///                   texts
/// \throws UsageError
void settle_modes(TypedConstraints& typed,
                  std::function<int(std::string const& option, std::string const& name)> const& number_of);

/// One for each of `order` modes; none at all if no mode has bounds or penalties.
/// \throws UsageError for a mode that the tensor does not have, bounds without a number between them, and if
///         the scale of the components would escape into a mode without penalty
[[nodiscard]] std::vector<Constraints> constraints_of_modes(TypedConstraints const& typed, int order);

/// Whether mode n stays as it is.
[[nodiscard]] bool is_fixed(TypedConstraints const& typed, std::size_t n);

/// A mode's share of the weights w of a start: factor |w|^(1/k) if k modes have shares.
struct WeightShare {
  std::size_t mode;
  double factor = 1;
};

/// The modes that share the weights of a start: the one whose scale is free, or else those with a ridge
/// alone, whose penalties are equal at the minimum, or else those whose scale is limited by penalties. A
/// fixed mode is none of them.
[[nodiscard]] std::vector<WeightShare> shares_of_weights(TypedConstraints const& typed, std::size_t order);

}  // namespace polyad::cli
