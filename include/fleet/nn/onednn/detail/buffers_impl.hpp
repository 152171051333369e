#pragma once
#include <algorithm>
#include <fleet/nn/onednn/detail/buffers.hpp>

namespace fleet::nn::onednn::detail {

FLEET_BODY BufferId Buffers::make(std::size_t bytes) {
  entries_.push_back({.bytes = bytes});
  return entries_.size() - 1;
}

FLEET_BODY BufferId Buffers::make_outside(void const* address) {
  entries_.push_back({.outside = true});
  place(entries_.size() - 1, address);
  return entries_.size() - 1;
}

FLEET_BODY void Buffers::use(BufferId buffer, Time time) {
  auto& entry = entries_[root(buffer)];
  entry.first = entry.first < 0 ? time : std::min(entry.first, time);
  entry.last = std::max(entry.last, time);
}

FLEET_BODY void Buffers::merge(BufferId one, BufferId other) {
  one = root(one), other = root(other);
  if (one == other) return;
  if (entries_[other].outside) std::swap(one, other);
  auto& kept = entries_[one];
  auto const& gone = entries_[other];
  kept.bytes = std::max(kept.bytes, gone.bytes);
  if (gone.first >= 0) {
    kept.first = kept.first < 0 ? gone.first : std::min(kept.first, gone.first);
    kept.last = std::max(kept.last, gone.last);
  }
  entries_[other].merged_into = one;
}

FLEET_BODY dnnl::memory Buffers::memory(dnnl::memory::desc const& desc, BufferId buffer) {
  memories_.emplace_back(dnnl::memory{desc, engine_, DNNL_MEMORY_NONE}, buffer);
  return memories_.back().first;
}

/// The largest first, each at the lowest offset where nothing that lives at the same time is in its way.
FLEET_BODY std::size_t Buffers::lay_out() {
  std::vector<Entry*> order;
  for (auto& entry : entries_)
    if (!entry.outside && entry.merged_into == no_buffer && entry.first >= 0) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](Entry* a, Entry* b) { return a->bytes > b->bytes; });
  std::size_t total = 0;
  std::vector<Entry*> placed, near;
  for (auto* entry : order) {
    near.clear();
    for (auto* other : placed)
      if (other->first <= entry->last && entry->first <= other->last) near.push_back(other);
    std::sort(near.begin(), near.end(), [](Entry* a, Entry* b) { return a->offset < b->offset; });
    std::size_t offset = 0;
    for (auto* other : near) {
      if (offset + entry->bytes <= other->offset) break;
      offset = std::max(offset, (other->offset + other->bytes + 63) / 64 * 64);
    }
    entry->offset = offset;
    total = std::max(total, offset + entry->bytes);
    placed.push_back(entry);
  }
  return total;
}

FLEET_BODY void Buffers::bind(std::byte* arena) {
  for (auto& entry : entries_)
    if (!entry.outside) entry.address = arena + entry.offset;
  for (auto& [memory, buffer] : memories_) memory.set_data_handle(data<void>(buffer));
}

FLEET_BODY void Buffers::place(BufferId outside, void const* address) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(address));
  if (entries_[outside].address == bytes) return;
  entries_[outside].address = bytes;
  for (auto& [memory, buffer] : memories_)
    if (root(buffer) == outside) memory.set_data_handle(bytes);
}

}  // namespace fleet::nn::onednn::detail
