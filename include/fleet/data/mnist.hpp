#pragma once
#include <array>
#include <string>

#include <fleet/core/config.hpp>
#include <fleet/data/tensor_dataset.hpp>

namespace fleet::data {

/// Handwritten digits: inputs [n, 1, 28, 28] from 0 (paper) to 1 (ink), labels [n] from 0 to 9.
struct Digits {
  TensorDataset train, test;
};

/// Reads the MNIST files of a folder: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
/// t10k-labels-idx1-ubyte, each plain or with .gz; if it has none of these, mnist.json.gz or mnist.json, whose train
/// and valid parts together are `train`. A pixel of an IDX file is divided by 255. Throws DataError, which lists what
/// is looked for and what is missing; for numbers of images and labels that differ; and as read_idx does.
FLEET_BODY Digits load_mnist(std::string const& folder);

/// The parts train, valid and eval of a file, plain or gzip, in the layout `[train, valid, eval]`, each `[images,
/// labels]`, an image a list of 784 numbers, a label a number from 0 to 9. Throws DataError with the place (in the
/// unpacked text) of what does not fit.
FLEET_BODY std::array<TensorDataset, 3> read_digits_json(std::string const& path);

}  // namespace fleet::data

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/data/detail/mnist_impl.hpp>  // IWYU pragma: export
#endif
