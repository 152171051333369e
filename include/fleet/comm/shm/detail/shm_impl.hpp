#pragma once
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fleet/comm/engine.hpp>
#include <fleet/comm/shm/detail/processes.hpp>
#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/comm/shm/detail/shm_transport.hpp>
#include <fleet/comm/shm/shm.hpp>
#include <fleet/core/error.hpp>
#include <fleet/net/interfaces.hpp>
#include <fleet/net/token.hpp>

namespace fleet::comm::shm {
namespace detail {

/// The ranks' meeting: all say who they are in the store, rank 0 also where its memory is.
class Meeting {
 public:
  explicit Meeting(Options const& options)
      : options_(options), deadline_(Deadline::after(options.connect_timeout)), me_(here(options.rank)) {}

  /// Says that this rank has come, with what it offers, and finds out whether another has said the same.
  void enter(std::string const& offer) const {
    auto const& store = *options_.store;
    auto const shape = text(options_.size, " ranks with chunks of ", options_.chunk_bytes, " bytes");
    auto const agreed = store.claim(key("shape"), text(shape, "\n", me_), deadline_);
    if (agreed.substr(0, agreed.find('\n')) != shape)
      throw ConfigurationError(text("fleet: ", me_, " was started for ", shape, ", but ",
                                    agreed.substr(agreed.find('\n') + 1), " for ", agreed.substr(0, agreed.find('\n')),
                                    "; start all ranks with the same settings"));
    auto const own = text(offer, "\n", me_);
    auto const entered = store.claim(key(text("rank/", options_.rank)), own, deadline_);
    if (entered != own)
      throw ConfigurationError(text("fleet: two processes say that they are rank ", options_.rank, ": ",
                                    entered.substr(entered.find('\n') + 1), " and ", me_,
                                    "; give each process an index of its own"));
  }

  /// Where rank 0's memory is: its process, descriptor and nonce.
  std::array<std::uint64_t, 3> find_memory() {
    for (;;) {
      if (auto const entry = options_.store->get(key("rank/0"), deadline_)) {
        std::array<std::uint64_t, 3> out{};
        char const* at = entry->data();
        for (auto& number : out) at = std::from_chars(at, entry->data() + entry->size(), number).ptr + 1;
        return out;
      }
      pause(0);
    }
  }

  /// Between two looks at whether rank `missing` has come: ends where the time is over or another rank has failed.
  void pause(int missing) {
    if (deadline_.passed())
      throw TransportError(
          TransportError::Cause::silent, missing, "connect",
          text("fleet: ", me_, " waited ", static_cast<double>(options_.connect_timeout.count()) / 1000, " s for rank ",
               missing, ", which did not come to the store at ", options_.store->endpoint(), "; is it running?"));
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    auto const now = Deadline::Clock::now();
    if (now - looked_ < std::chrono::milliseconds{200}) return;
    looked_ = now;
    if (auto const failure = options_.store->get(key("failure"), deadline_)) {
      int rank = -1;
      std::from_chars(failure->data(), failure->data() + failure->size(), rank);
      auto const what = failure->substr(failure->find('\n') + 1);
      if (failure->find("wrong\n") < failure->find('\n')) throw ConfigurationError(what);
      throw TransportError(TransportError::Cause::aborted, rank, "connect", what);
    }
  }

  /// Tells those who still wait that this rank fails; says nothing itself.
  void give_up(std::exception const& error) const noexcept {
    try {
      bool const wrong = dynamic_cast<ConfigurationError const*>(&error) != nullptr;
      options_.store->claim(key("failure"), text(options_.rank, wrong ? " wrong\n" : " failed\n", error.what()),
                            Deadline::after(std::chrono::seconds{2}));
    } catch (std::exception const&) {  // without the store there is no way to tell
    }
  }

 private:
  static std::string here(int rank) {
    return text("rank ", rank, " (", net::host_name(), ", process ", ::getpid(), ", ", place(), ")");
  }
  std::string key(std::string const& name) const { return text("shm/", options_.group, "/", name); }

  Options const& options_;
  Deadline deadline_;
  std::string me_;
  Deadline::Clock::time_point looked_ = Deadline::Clock::now();
};

inline void check_options(Options const& options) {
  if (options.size < 1) throw ConfigurationError(text("fleet: a group has at least 1 rank, not ", options.size));
  if (options.rank < 0 || options.rank >= options.size)
    throw ConfigurationError(
        text("fleet: there is no rank ", options.rank, " of ", options.size, "; ranks are 0 to ", options.size - 1));
  if (options.size > 1 && !options.store)
    throw ConfigurationError(text("fleet: ", options.size, " ranks need a store to meet in; name its endpoint"));
  std::size_t const least = line * static_cast<std::size_t>(options.size);
  if (options.chunk_bytes < least || options.chunk_bytes > (std::size_t{1} << 30))
    throw ConfigurationError(text("fleet: chunk_bytes is ", options.chunk_bytes, "; for ", options.size,
                                  " ranks it is at least ", least, " and at most 1 GiB"));
}

/// Marks the cores that this rank may run on.
inline void enter_cores(Head& head) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof own, &own) != 0) return;
  for (std::size_t core = 0; core < head.cores.size() * 64; ++core)
    if (CPU_ISSET(core, &own)) head.cores[core / 64].fetch_or(std::uint64_t{1} << core % 64);
}

inline bool crowded(Segment const& segment) {
  int cores = 0;
  for (auto const& word : segment.head().cores) cores += std::popcount(word.load());
  return cores < segment.size();
}

inline std::unique_ptr<Transport> join(Options const& options, Meeting& meeting) {
  std::shared_ptr<Segment> segment;
  std::vector<int> ids(static_cast<std::size_t>(options.size));
  if (options.rank == 0) {
    std::iota(ids.begin(), ids.end(), 0);
    segment = Segment::create({options.size, options.chunk_bytes / line * line}, ids);
    meeting.enter(text(::getpid(), " ", segment->descriptor(), " ", segment->head().identity.nonce));
  } else {
    meeting.enter(net::hex(net::random_bytes(8)));  // tells two processes apart that say the same
    auto const [process, descriptor, nonce] = meeting.find_memory();
    segment = Segment::open(static_cast<int>(process), static_cast<int>(descriptor), nonce);
  }
  auto& self = segment->member(options.rank);
  enter_cores(segment->head());
  self.process = ::getpid();
  self.state = Member::here;
  for (int rank = 0; rank < options.size; ++rank) {
    auto const& member = segment->member(rank);
    while (member.state.load() == Member::absent) meeting.pause(rank);
    ids[static_cast<std::size_t>(rank)] = member.process;
  }
  segment->close_descriptor();
  auto processes = std::make_shared<Processes const>(ids);
  bool const many = crowded(*segment);
  return std::make_unique<ShmTransport>(std::move(segment), options.rank, std::move(processes), many);
}

inline std::unique_ptr<Transport> alone(Options const& options) {
  int const self = 0, process = ::getpid();
  auto segment = Segment::create({1, options.chunk_bytes / line * line}, std::span{&self, 1});
  segment->close_descriptor();
  return std::make_unique<ShmTransport>(std::move(segment), 0,
                                        std::make_shared<Processes const>(std::span{&process, 1}), false);
}

}  // namespace detail

FLEET_BODY std::shared_ptr<Communicator> connect(Options const& options) {
  detail::check_options(options);
  std::unique_ptr<Transport> transport;
  if (options.size == 1) {
    transport = detail::alone(options);
  } else {
    detail::Meeting meeting{options};
    try {
      transport = detail::join(options, meeting);
    } catch (std::exception const& error) {
      meeting.give_up(error);
      throw;
    }
  }
  return std::make_shared<Engine>(std::move(transport), options.timeout, options.checks);
}

FLEET_BODY std::string place() {
  char space[64] = "";
  auto const length = ::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  return text(net::host_identity(), " ", std::string_view{space, length > 0 ? static_cast<std::size_t>(length) : 0},
              " user ", ::geteuid());
}

}  // namespace fleet::comm::shm
