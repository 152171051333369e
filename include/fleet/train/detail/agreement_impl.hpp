#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>

#include <fleet/train/agreement.hpp>

namespace fleet {
namespace detail {

inline std::vector<std::string> describe(std::span<Parameter const> parameters) {
  std::vector<std::string> lines;
  for (auto const& parameter : parameters)
    lines.push_back(text(parameter.name, " ", parameter.shape.text(), parameter.distributed ? " distributed" : ""));
  return lines;
}

inline std::vector<std::string> lines_of(std::vector<char> const& joined) {
  std::vector<std::string> lines;
  for (auto at = joined.begin(); at != joined.end();) {
    auto const end = std::find(at, joined.end(), '\n');
    lines.emplace_back(at, end);
    at = end + 1;
  }
  return lines;
}

inline std::string listed(std::vector<std::string> const& lines, std::size_t i) {
  return i < lines.size() ? text("lists ", lines[i]) : text("lists only ", lines.size(), " parameters");
}

/// Ranks whose flag is `value`: "worker 1", "workers 1, 3".
inline std::string name_workers(std::vector<std::uint8_t> const& flags, std::uint8_t value) {
  std::string list;
  for (std::size_t rank = 0; rank < flags.size(); ++rank)
    if (flags[rank] == value) list += text(list.empty() ? "" : ", ", rank);
  return text(list.find(',') == std::string::npos ? "worker " : "workers ", list);
}

}  // namespace detail

FLEET_BODY void agree_on_parameters(std::span<Parameter> parameters, comm::Communicator& workers) {
  if (workers.size() == 1) return;
  auto const own = detail::describe(parameters);
  std::vector<std::uint8_t> joined;
  if (workers.rank() == 0)
    for (auto const& line : own) {
      joined.insert(joined.end(), line.begin(), line.end());
      joined.push_back('\n');
    }
  std::uint64_t size = joined.size();
  workers.broadcast(std::span{&size, 1}, 0);
  joined.resize(size);
  workers.broadcast(std::span{joined}, 0);

  auto const first = detail::lines_of({joined.begin(), joined.end()});
  auto const [mine, theirs] = std::mismatch(own.begin(), own.end(), first.begin(), first.end());
  bool const same = mine == own.end() && theirs == first.end();
  auto const difference =
      same ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(mine - own.begin());
  std::vector<std::uint64_t> differences(static_cast<std::size_t>(workers.size()));
  workers.all_gather(std::span{&difference, 1}, std::span{differences});
  auto const worst = std::min_element(differences.begin(), differences.end());
  if (*worst != std::numeric_limits<std::uint64_t>::max()) {
    auto const rank = static_cast<int>(worst - differences.begin());
    std::string other = workers.rank() == rank ? detail::listed(own, *worst) : std::string{};
    std::uint64_t length = other.size();
    workers.broadcast(std::span{&length, 1}, rank);
    std::vector<std::uint8_t> bytes(other.begin(), other.end());
    bytes.resize(length);
    workers.broadcast(std::span{bytes}, rank);
    throw ContractError(text("fleet: parameter ", *worst, " differs between workers: worker 0 ",
                             detail::listed(first, *worst), ", worker ", rank, " ",
                             std::string_view{reinterpret_cast<char const*>(bytes.data()), length},
                             ". Build the same model, in the same order, on every worker"));
  }
  for (auto const& parameter : parameters)
    if (!parameter.distributed) workers.broadcast(parameter.value, 0);
}

FLEET_BODY StepAgreement::StepAgreement(std::span<Parameter> parameters, comm::Communicator& workers)
    : parameters_(parameters), workers_(workers), flags_(parameters.size() + 1) {}

FLEET_BODY int StepAgreement::exchange(std::span<std::uint8_t> used, bool has_batch) {
  constexpr std::int32_t trainable = 1 << 16;  // the lower half counts uses, so up to 32,767 workers fit
  for (std::size_t i = 0; i < used.size(); ++i) flags_[i] = used[i] + (parameters_[i].trainable ? trainable : 0);
  flags_.back() = has_batch;
  workers_.all_reduce(std::span{flags_});
  for (std::size_t i = 0; i < used.size(); ++i) {
    auto const thawed = flags_[i] / trainable;
    if (thawed != 0 && thawed != workers_.size()) refuse_frozen(i);
    used[i] = flags_[i] % trainable != 0;
  }
  return flags_.back();
}

FLEET_BODY void StepAgreement::refuse_frozen(std::size_t parameter) {
  std::uint8_t const own = parameters_[parameter].trainable;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(workers_.size()));
  workers_.all_gather(std::span{&own, 1}, std::span{all});
  throw ContractError(text("fleet: parameter ", parameters_[parameter].name, " is trainable on ",
                           detail::name_workers(all, 1), " and frozen on ", detail::name_workers(all, 0),
                           ". Set `trainable` alike on every worker"));
}

}  // namespace fleet
