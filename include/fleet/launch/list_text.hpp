#pragma once
#include <string>
#include <string_view>

namespace fleet::launch {

/// The words one after the other, with `separator` between them.
template <class Words>
std::string joined(Words const& words, std::string_view separator) {
  std::string all;
  bool first = true;
  for (auto const& word : words) {
    if (!first) all += separator;
    all += word;
    first = false;
  }
  return all;
}

}  // namespace fleet::launch
