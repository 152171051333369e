#pragma once
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fleet/launch/summary.hpp>
#include <fleet/launch/time_text.hpp>

namespace fleet::launch {
namespace detail {

inline bool failed_by_itself(Ending const& ending) { return ending.failed() && !ending.told; }

/// A signal that no lost peer brings about.
inline bool struck_down(Ending const& ending) {
  return ending.by_signal && (ending.code == SIGKILL || ending.code == SIGSEGV || ending.code == SIGBUS ||
                              ending.code == SIGILL || ending.code == SIGFPE);
}

/// The ranks that an error of the library names after its own: "fleet: rank 0: all_reduce ...: rank 2 ...".
inline std::deque<int> ranks_named(std::string_view line) {
  std::deque<int> ranks;
  if (line.find("fleet: ") == std::string_view::npos) return ranks;
  constexpr std::string_view word = "rank ";
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    int rank = 0;
    auto const* const begin = line.data() + at + word.size();
    if (std::from_chars(begin, line.data() + line.size(), rank).ec == std::errc{}) ranks.push_back(rank);
  }
  return ranks;
}

/// The place of the rank on which `ending` lays its failure, if that one failed by itself too.
inline std::optional<std::size_t> blamed(std::span<Ending const> endings, std::size_t index) {
  for (auto const& line : endings[index].error.lines())
    for (int const rank : ranks_named(line))
      for (std::size_t other = 0; other < endings.size(); ++other)
        if (endings[other].rank == rank && other != index && failed_by_itself(endings[other])) return other;
  return std::nullopt;
}

inline std::string indented(std::deque<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) all += "    " + line + "\n";
  return all;
}

inline std::string fate(Ending const& ending) {
  if (!ending.failed()) return ending.told ? "ended normally when told to" : "had ended normally";
  return ending_text(ending) + (ending.told ? ", after fleetrun told it to end" : "");
}

}  // namespace detail

FLEET_BODY std::optional<std::size_t> first_cause(std::span<Ending const> endings) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < endings.size(); ++i)
    if (detail::failed_by_itself(endings[i]) && (!first || endings[i].order < endings[*first].order)) first = i;
  if (!first || detail::struck_down(endings[*first])) return first;
  for (std::size_t i = 0; i < endings.size(); ++i)
    if (detail::failed_by_itself(endings[i]) && detail::struck_down(endings[i]) &&
        endings[i].after - endings[*first].after < std::chrono::seconds{1})
      return i;
  for (std::size_t step = 0; step < endings.size(); ++step) {
    auto const next = detail::blamed(endings, *first);
    if (!next) break;
    first = next;
  }
  return first;
}

FLEET_BODY std::string failure_summary(std::span<Ending const> endings, std::size_t cause) {
  auto const& guilty = endings[cause];
  std::string all = text("fleetrun: ", guilty.label, " failed first: ", ending_text(guilty), "\n  host ", guilty.host,
                         ", process ", guilty.pid, ", ", clock_time(guilty.at), ", ", seconds_text(guilty.after),
                         " after the start; log ", guilty.log, "\n");
  if (guilty.by_signal && guilty.code == SIGKILL)
    all +=
        "  fleetrun did not send this signal. Out of memory is the usual reason: `dmesg | grep -i kill` shows whether\n"
        "  the system ended it; then use a smaller batch or fewer ranks on this host.\n";
  if (!guilty.error.lines().empty())
    all += "  last lines of its error stream:\n" + detail::indented(guilty.error.lines());
  else if (!guilty.output.lines().empty())
    all += "  its error stream is empty; last lines of its output:\n" + detail::indented(guilty.output.lines());
  else
    all += "  it printed nothing\n";
  if (endings.size() > 1) all += "  consequences:\n";
  for (std::size_t i = 0; i < endings.size(); ++i)
    if (i != cause)
      all += text("    ", endings[i].label, " (process ", endings[i].pid, "): ", detail::fate(endings[i]), "\n");
  return all +
         text("fleetrun: ", guilty.label, " failed with ", ending_text(guilty), "; exit status ", guilty.status());
}

FLEET_BODY std::string stop_summary(std::span<Ending const> endings, int signal_number) {
  std::string all = text("fleetrun: stopped by ", signal_text(signal_number), "\n");
  for (auto const& ending : endings)
    all += text("    ", ending.label, " (process ", ending.pid, "): ", detail::fate(ending), "\n");
  return all + text("fleetrun: exit status ", 128 + signal_number);
}

}  // namespace fleet::launch
