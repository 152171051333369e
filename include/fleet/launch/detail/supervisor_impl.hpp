#pragma once
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/launch/descendants.hpp>
#include <fleet/launch/signals.hpp>
#include <fleet/launch/summary.hpp>
#include <fleet/launch/supervisor.hpp>

namespace fleet::launch {
namespace detail {

/// Reading stops while more than this waits for a slow console, so that the writers wait instead of our memory growing.
constexpr std::size_t console_backlog = std::size_t{8} << 20;
constexpr std::uint64_t signals_tag = ~std::uint64_t{0}, life_line_tag = signals_tag - 1;

inline void watch(Descriptor const& set, int descriptor, std::uint64_t tag) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = tag}};
  if (::epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw Error(text("fleetrun: cannot watch a descriptor: ", std::strerror(errno)));
}

template <class Handle>
void for_each_event(Descriptor const& set, Handle const& handle) {
  epoll_event events[64];
  int const count = ::epoll_wait(set.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) handle(events[i].data.u64);
}

}  // namespace detail

FLEET_BODY Supervisor::Supervisor(ChildSetup setup, Patience patience, Descriptor life_line)
    : setup_(std::move(setup)), patience_(patience), life_line_(std::move(life_line)) {
  auto const handled = handled_signals();
  signals_ = Descriptor{::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK)};
  events_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  sources_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  if (!signals_ || !events_ || !sources_)
    throw Error(text("fleetrun: no descriptor for watching processes: ", std::strerror(errno)));
  detail::watch(events_, signals_.get(), detail::signals_tag);
  if (life_line_) detail::watch(events_, life_line_.get(), detail::life_line_tag);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);
}

FLEET_BODY Supervisor::~Supervisor() {
  kill_all();
  end_descendants(Deadline::after(patience_.unkillable));
}

FLEET_BODY void Supervisor::start(std::vector<ProcessSpec> const& processes) {
  for (auto const& process : processes) processes_.emplace_back(process, console_);
  std::uint64_t index = 0;
  for (auto& process : processes_) {
    process.start(setup_);
    detail::watch(events_, process.child().handle.get(), index);
    detail::watch(sources_, process.child().output.get(), 2 * index);
    detail::watch(sources_, process.child().error.get(), 2 * index + 1);
    ++index;
  }
}

FLEET_BODY int Supervisor::run() {
  bool concluded = false;
  int status = 0;
  while (true) {
    if (!concluded && all_finished()) {
      status = conclude();
      concluded = true;
    }
    if (concluded && console_.waiting() == 0) return status;
    auto const room = console_.watched();
    pollfd polled[] = {
        room[0],
        room[1],
        {.fd = events_.get(), .events = POLLIN, .revents = 0},
        {.fd = console_.waiting() < detail::console_backlog ? sources_.get() : -1, .events = POLLIN, .revents = 0}};
    ::poll(polled, 4, wait_time());
    console_.write(std::span<pollfd const, 2>{polled, 2});
    handle_events();
    if (polled[3].fd >= 0) handle_streams();
    handle_time();
    reap_adopted();
  }
}

FLEET_BODY bool Supervisor::all_finished() const {
  return std::all_of(processes_.begin(), processes_.end(), [](auto const& process) { return process.finished(); });
}

FLEET_BODY int Supervisor::wait_time() const {
  auto time = std::chrono::milliseconds{60000};
  if (phase_ends_) time = std::min(time, phase_ends_->remaining());
  for (auto const& process : processes_)
    if (process.drained_by() && !process.finished()) time = std::min(time, process.drained_by()->remaining());
  return static_cast<int>(time.count());
}

FLEET_BODY void Supervisor::handle_events() {
  // The kernel hands out what has become ready in the order in which it did, so the first ending is the first handled.
  detail::for_each_event(events_, [&](std::uint64_t tag) {
    if (tag == detail::signals_tag)
      handle_signals();
    else if (tag == detail::life_line_tag)
      abandon();
    else
      handle_end(processes_[tag]);
  });
}

FLEET_BODY void Supervisor::handle_streams() {
  detail::for_each_event(
      sources_, [&](std::uint64_t tag) { processes_[tag / 2].read(tag % 2 == 0 ? Stream::output : Stream::error); });
}

FLEET_BODY void Supervisor::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    auto const number = static_cast<int>(info.ssi_signo);
    if (std::find(stop_signals.begin(), stop_signals.end(), number) != stop_signals.end())
      stop(number);
    else if (number != SIGCHLD)
      signal_all(number, false);
  }
}

FLEET_BODY void Supervisor::stop(int number) {
  bool const again = stop_signal_.has_value() || phase_ == Phase::ending;
  if (!stop_signal_) stop_signal_ = number;
  if (again || phase_ == Phase::killing) {
    say(Stream::error, text("fleetrun: ", signal_text(number), " once more: everything is killed"));
    kill_all();
    return;
  }
  say(Stream::error, text("fleetrun: ", signal_text(number), " goes to all ranks, which have ",
                          patience_.grace.count() / 1000, " s to end"));
  signal_all(number, true);
  phase_ = Phase::ending;
  phase_ends_ = Deadline::after(patience_.grace);
}

FLEET_BODY void Supervisor::signal_all(int number, bool asks_to_end) {
  for (auto& process : processes_) process.send(number, asks_to_end);
}

FLEET_BODY void Supervisor::kill_all() {
  signal_all(SIGKILL, true);
  phase_ = Phase::killing;
  phase_ends_ = Deadline::after(patience_.unkillable);
}

FLEET_BODY void Supervisor::abandon() {
  kill_all();
  end_descendants(Deadline::after(patience_.unkillable));
  ::_exit(128 + SIGKILL);
}

FLEET_BODY void Supervisor::handle_end(Watched& process) {
  if (!process.note_end(ended_, started_, patience_.drain)) return;
  ++ended_;
  auto const& ending = process.ending();
  if (!ending.failed() || ending.told || phase_ != Phase::running) return;
  phase_ = Phase::settling;
  phase_ends_ = Deadline::after(patience_.settle);
  if (processes_.size() > 1)
    say(Stream::error,
        text("fleetrun: ", ending.label, " failed with ", ending_text(ending), "; the others are told to end"));
}

FLEET_BODY void Supervisor::handle_time() {
  for (auto& process : processes_)
    if (process.drained() && !process.finished()) process.finish();
  if (!phase_ends_ || !phase_ends_->passed()) return;
  phase_ends_.reset();
  switch (phase_) {
    case Phase::running:
      break;
    case Phase::settling:
      signal_all(SIGTERM, true);
      phase_ = Phase::ending;
      phase_ends_ = Deadline::after(patience_.grace);
      break;
    case Phase::ending:
      kill_all();
      break;
    case Phase::killing:
      for (auto& process : processes_)
        if (process.running()) process.give_up();
  }
}

FLEET_BODY void Supervisor::reap_adopted() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (std::any_of(processes_.begin(), processes_.end(),
                    [&](auto const& process) { return !process.finished() && process.pid() == info.si_pid; }))
      return;
    ::waitpid(info.si_pid, nullptr, 0);
  }
}

FLEET_BODY int Supervisor::conclude() {
  if (!end_descendants(Deadline::after(patience_.unkillable)))
    say(Stream::error, "fleetrun: a process that a rank started does not end although it was killed");
  std::vector<Ending> endings;
  for (auto const& process : processes_) endings.push_back(process.ending());
  if (auto const cause = first_cause(endings)) {
    say(Stream::error, failure_summary(endings, *cause));
    return endings[*cause].status();
  }
  if (!stop_signal_) return 0;
  say(Stream::error, stop_summary(endings, *stop_signal_));
  return 128 + *stop_signal_;
}

}  // namespace fleet::launch
