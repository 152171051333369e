#pragma once
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fleet/data/idx.hpp>
#include <fleet/data/mnist.hpp>

namespace fleet::data {
namespace detail {

/// Reads nested lists of numbers (JSON without objects and strings) as a stream.
class NumberLists {
 public:
  explicit NumberLists(std::string const& path) : file_(path), buffer_(1 << 16) {}

  /// Steps over `wanted` if it is next.
  bool take(char wanted) {
    skip_blanks();
    if (at_ == end_ || buffer_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted, std::string_view where) {
    if (!take(wanted)) fail(text("'", wanted, "' ", where));
  }
  /// Calls `element` for each element of a list; it must step over it.
  template <class Element>
  void list(std::string_view what, Element const& element) {
    expect('[', text("at the begin of ", what));
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']', text("or ',' in ", what));
  }
  float number(std::string_view what) {
    skip_blanks();
    if (end_ - at_ < longest_number) refill();
    float value = 0;
    auto const [rest, error] = std::from_chars(buffer_.data() + at_, buffer_.data() + end_, value);
    if (error != std::errc{} || !std::isfinite(value)) fail(text("a finite number as ", what));
    at_ = static_cast<std::size_t>(rest - buffer_.data());
    return value;
  }
  void end() {
    skip_blanks();
    if (at_ != end_) fail("nothing after the last ']'");
  }
  [[noreturn]] void fail(std::string const& expected) const {
    auto const found = at_ == end_
                           ? std::string{"the end of the file"}
                           : text("\"", std::string_view{&buffer_[at_], std::min<std::size_t>(end_ - at_, 12)}, "\"");
    throw DataError(text("fleet: ", file_.path(), " is not a digits file: expected ", expected, " at byte ",
                         file_.offset() - (end_ - at_), ", found ", found));
  }

 private:
  static constexpr std::size_t longest_number = 64;

  void skip_blanks() {
    for (;; ++at_) {
      if (at_ == end_) refill();
      if (at_ == end_) return;
      char const c = buffer_[at_];
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    }
  }
  void refill() {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= std::exchange(at_, 0);
    end_ += file_.read(std::as_writable_bytes(std::span{buffer_}).subspan(end_));
  }

  InputFile file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
};

FLEET_BODY TensorDataset digits_part(NumberLists& in, std::string const& part) {
  constexpr std::size_t pixels = 784;
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  in.expect('[', "at the begin of " + part);
  in.list("the images of " + part, [&] {
    std::size_t const begin = images.size();
    in.list("an image", [&] { images.push_back(in.number("a pixel")); });
    if (images.size() - begin != pixels)
      in.fail(text("the end of an image of 784 pixels, image ", begin / pixels, " of ", part, " has ",
                   images.size() - begin));
  });
  in.expect(',', "between the images and the labels of " + part);
  in.list("the labels of " + part, [&] {
    float const label = in.number("a label");
    if (!(label >= 0 && label <= 9 && label == std::floor(label)))
      in.fail(text("a label from 0 to 9, label ", labels.size(), " of ", part, " is ", label, ";"));
    labels.push_back(static_cast<std::int64_t>(label));
  });
  in.expect(']', "at the end of " + part);
  if (labels.size() * pixels != images.size())
    in.fail(text("as many labels as images, ", part, " has ", images.size() / pixels, " images and ", labels.size(),
                 " labels;"));

  auto const count = static_cast<std::int64_t>(labels.size());
  TensorDataset::Columns columns{.inputs = Tensor<float>{{count, 1, 28, 28}}, .labels = Tensor<std::int64_t>{{count}}};
  std::copy(images.begin(), images.end(), columns.inputs.data());
  std::copy(labels.begin(), labels.end(), columns.labels.data());
  return TensorDataset{std::move(columns)};
}

FLEET_BODY TensorDataset join(TensorDataset const& a, TensorDataset const& b) {
  auto const& [images, pixels, labels, targets] = a.columns();
  auto const count = static_cast<std::int64_t>(a.size() + b.size());
  TensorDataset::Columns columns{.inputs = Tensor<float>{{count, 1, 28, 28}}, .labels = Tensor<std::int64_t>{{count}}};
  std::copy_n(b.columns().inputs.data(), b.columns().inputs.size(),
              std::copy_n(images.data(), images.size(), columns.inputs.data()));
  std::copy_n(b.columns().labels.data(), b.size(), std::copy_n(labels.data(), a.size(), columns.labels.data()));
  return TensorDataset{std::move(columns)};
}

FLEET_BODY TensorDataset digits_of(std::string const& images_path, std::string const& labels_path) {
  auto pixels = read_idx_images(images_path);
  auto labels = read_idx_labels(labels_path);
  auto const shape = pixels.shape();
  if (shape[1] != 28 || shape[2] != 28)
    throw DataError(text("fleet: ", images_path, " has images of ", shape[1], " x ", shape[2],
                         " pixels at byte 8, expected 28 x 28; read other images with read_idx_images"));
  if (shape[0] != labels.shape()[0])
    throw DataError(text("fleet: ", images_path, " holds ", shape[0], " images, but ", labels_path, " holds ",
                         labels.size(), " labels (byte 4 of each); take both files from one set"));
  pixels.reshape({shape[0], 1, 28, 28});
  return TensorDataset{{.pixels = std::move(pixels), .labels = std::move(labels)}};
}

/// The path of a file that may also have .gz after its name; empty if there is none.
FLEET_BODY std::string find_packed(std::string const& folder, std::string const& name) {
  struct stat status {};
  auto const base = folder + (folder.ends_with('/') ? "" : "/") + name;
  for (auto const& path : {base, base + ".gz"})
    if (stat(path.c_str(), &status) == 0) return path;
  return {};
}

}  // namespace detail

FLEET_BODY std::array<TensorDataset, 3> read_digits_json(std::string const& path) {
  detail::NumberLists in{path};
  std::array<TensorDataset, 3> parts;
  constexpr std::array names{"train", "valid", "eval"};
  in.expect('[', "at the begin of the file");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) in.expect(',', text("before ", names[i]));
    parts[i] = detail::digits_part(in, names[i]);
  }
  in.expect(']', "after eval");
  in.end();
  return parts;
}

FLEET_BODY Digits load_mnist(std::string const& folder) {
  std::array<std::string, 4> const names{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                         "t10k-labels-idx1-ubyte"};
  std::array<std::string, 4> paths;
  std::string missing;
  for (std::size_t i = 0; i < names.size(); ++i) {
    paths[i] = detail::find_packed(folder, names[i]);
    if (paths[i].empty()) missing += (missing.empty() ? "" : ", ") + names[i];
  }
  if (missing.empty()) return {detail::digits_of(paths[0], paths[1]), detail::digits_of(paths[2], paths[3])};
  bool const none = std::all_of(paths.begin(), paths.end(), [](auto const& path) { return path.empty(); });
  if (auto const json = detail::find_packed(folder, "mnist.json"); none && !json.empty()) {
    auto const parts = read_digits_json(json);
    return {detail::join(parts[0], parts[1]), parts[2]};
  }
  struct stat status {};
  throw DataError(text("fleet: ", stat(folder.c_str(), &status) == 0 ? "the folder " : "there is no folder ", folder,
                       stat(folder.c_str(), &status) == 0 ? " has no " : "; it should hold ", missing,
                       " (each plain or with .gz)", none ? ", or mnist.json.gz" : "",
                       ". Name the folder of the MNIST files; fleet's examples have one in data/digits"));
}

}  // namespace fleet::data
