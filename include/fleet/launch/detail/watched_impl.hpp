#pragma once
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fleet/core/error.hpp>
#include <fleet/launch/time_text.hpp>
#include <fleet/launch/watched.hpp>

namespace fleet::launch {

FLEET_BODY Watched::Watched(ProcessSpec spec, Console& console)
    : spec_(std::move(spec)),
      console_(&console),
      log_(::open(spec_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!log_)
    throw ConfigurationError(text("fleetrun: cannot write the log file ", spec_.log, ": ", std::strerror(errno),
                                  "; name another folder with --log_dir"));
  if (::lseek(log_.get(), 0, SEEK_END) > 0)
    write_log(text("---- fleetrun: a new run, ", clock_time(std::chrono::system_clock::now()), " ----\n"));
  ending_.label = spec_.label;
  ending_.host = spec_.host;
  ending_.log = spec_.log;
  ending_.rank = spec_.rank;
}

FLEET_BODY void Watched::start(ChildSetup const& setup) {
  child_ = start_child(setup, spec_);
  ending_.pid = child_.pid;
}

FLEET_BODY void Watched::send(int signal_number, bool asks_to_end) {
  if (child_.pid <= 0 || finished_) return;
  if (asks_to_end && running()) ending_.told = true;
  ::kill(-child_.pid, signal_number);
  if (asks_to_end) ::kill(-child_.pid, SIGCONT);  // a stopped process would not notice
}

FLEET_BODY void Watched::read(Stream stream) {
  char piece[65536];
  auto& source = descriptor(stream);
  auto const count = ::read(source.get(), piece, sizeof piece);
  if (count > 0) {
    pass_on(stream, {piece, static_cast<std::size_t>(count)});
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    pass_on(stream, {});
    source.reset();
  }
}

/// An empty piece is the end of the stream.
FLEET_BODY void Watched::pass_on(Stream stream, std::string_view piece) {
  auto& tail = stream == Stream::output ? ending_.output : ending_.error;
  auto& lines = lines_[stream == Stream::output ? 0 : 1];
  auto const prefix = "[" + spec_.label + "] ";
  std::string logged;
  auto const on_line = [&](std::string_view line) {
    console_->add(stream, prefix, line);
    tail.add(line);
    logged += line;
    logged += '\n';
  };
  if (piece.empty())
    lines.finish(on_line);
  else
    lines.feed(piece, on_line);
  write_log(logged);
}

FLEET_BODY void Watched::write_log(std::string const& lines) {
  for (std::size_t written = 0; log_ && written < lines.size();) {
    auto const count = ::write(log_.get(), lines.data() + written, lines.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      console_->add(Stream::error,
                    "fleetrun: ", text("the log file ", spec_.log, " ends here: ", std::strerror(errno)));
      log_.reset();
    }
  }
}

FLEET_BODY bool Watched::note_end(int order, std::chrono::steady_clock::time_point started,
                                  std::chrono::milliseconds drain) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(child_.handle.get()), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return false;
  child_.handle.reset();
  drained_by_ = Deadline::after(drain);
  ending_.by_signal = info.si_code != CLD_EXITED;
  ending_.code = info.si_status;
  ending_.order = order;
  ending_.at = std::chrono::system_clock::now();
  ending_.after = std::chrono::steady_clock::now() - started;
  return true;
}

FLEET_BODY void Watched::finish() {
  ::kill(-child_.pid, SIGKILL);
  for (auto const stream : {Stream::output, Stream::error}) {
    // What a pipe can hold, and no more: somebody out of reach may still write.
    for (int pieces = 0; descriptor(stream) && pieces < 16; ++pieces) read(stream);
    if (descriptor(stream)) pass_on(stream, {});
    descriptor(stream).reset();
  }
  ::waitpid(child_.pid, nullptr, 0);
  log_.reset();
  finished_ = true;
}

FLEET_BODY void Watched::give_up() {
  console_->add(
      Stream::error, "fleetrun: ",
      text(spec_.label, " (process ", child_.pid, ") does not end although it was killed; it is left behind"));
  ending_.by_signal = true;
  ending_.code = SIGKILL;
  drained_by_ = Deadline::after(std::chrono::milliseconds{0});
  finished_ = true;
}

}  // namespace fleet::launch
