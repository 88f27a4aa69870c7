// SPDX-License-Identifier: BSD-3-Clause
// Everything that a program usually needs: tensors, files, any_format, the drivers and generators. It leaves
// out core/{device,device_memory,quantity_text}.hpp, io/{array_npz,atomic_file}.hpp, and the headers in
// kernel/ and testing/, which a user-defined format needs. The library's own formats are private classes:
// any_format takes their names. The version is in POLYAD_VERSION_MAJOR, POLYAD_VERSION_MINOR,
// POLYAD_VERSION_PATCH and POLYAD_VERSION (a string).
#pragma once

#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/project.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/fit/predict.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/coo_file.hpp"
#include "polyad/io/saved_models.hpp"
#include "polyad/io/tensor_file.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/generate.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/tucker/tucker.hpp"
#include "polyad/version.hpp"
