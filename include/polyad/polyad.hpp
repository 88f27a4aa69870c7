// SPDX-License-Identifier: BSD-3-Clause
// Everything of Polyad but the readers and writers of files (polyad/io/).
#pragma once

#include "polyad/core/types.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/restarts.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/fast_tucker/biases.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/coo/sgd_coo.hpp"
#include "polyad/formats/csf/leaf_trees.hpp"
#include "polyad/formats/csf/residual_trees.hpp"
#include "polyad/formats/fcoo/semi_sparse.hpp"
#include "polyad/formats/registry.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/tensor/generate.hpp"
#include "polyad/tensor/ktensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/tucker/hooi.hpp"
#include "polyad/tucker/hosvd_start.hpp"
