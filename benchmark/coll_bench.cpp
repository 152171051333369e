// Collectives of ranks on one host, each a process of its own (for --engine local: a thread).
//   coll_bench --op allreduce|allgather|broadcast|reduce_scatter|barrier --np N --sizes BYTES,... --engine
//   shm|tcp|local
// A batch is a barrier and then so many operations that it lasts about 4 ms; its time is the slowest rank's. The value
// is the median over the batches of the time of one operation. BYTES is the whole buffer: for allgather all that is
// gathered, for reduce_scatter the input. The root of a broadcast moves with every call, so that no rank runs ahead.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fleet/comm/communicator.hpp>
#include <fleet/comm/local/local.hpp>
#include <fleet/comm/shm/shm.hpp>
#include <fleet/comm/tcp/tcp.hpp>
#include <fleet/core/text.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

#include "support/result.hpp"

namespace {

using fleet::text;
using fleet::comm::Communicator;

struct Settings {
  std::string op = "allreduce", engine = "shm";
  int np = 2;
  std::vector<std::size_t> sizes{1024};
  double seconds = 0.25;
};

Settings parse(int count, char** words) {
  Settings out;
  for (int i = 1; i + 1 < count; i += 2) {
    std::string_view const name = words[i];
    std::string const value = words[i + 1];
    if (name == "--op") {
      out.op = value;
    } else if (name == "--engine") {
      out.engine = value;
    } else if (name == "--np") {
      out.np = std::stoi(value);
    } else if (name == "--seconds") {
      out.seconds = std::stod(value);
    } else if (name == "--sizes") {
      out.sizes.clear();
      for (std::size_t at = 0; at < value.size(); at = std::min(value.find(',', at), value.size() - 1) + 1)
        out.sizes.push_back(std::stoull(value.substr(at)));
    } else {
      throw std::invalid_argument(text("unknown: ", name));
    }
  }
  if (count % 2 == 0) throw std::invalid_argument(text(words[count - 1], " has no value"));
  return out;
}

struct Timing {
  double seconds;
  int batches, per_batch;
};

Timing time(Communicator& comm, std::function<void(int)> const& operation, double budget) {
  auto const slowest = [&](double own) {
    comm.all_reduce(std::span{&own, 1}, fleet::comm::ReduceOp::max);
    return own;
  };
  int step = 0;
  comm.barrier();
  operation(step++);
  double one = 1e9;  // the quickest of three: a rank that was put off must not decide
  for (int i = 0; i < 3; ++i) {
    comm.barrier();
    double const start = bench::seconds_now();
    operation(step++);
    one = std::min(one, slowest(bench::seconds_now() - start));
  }
  int const per_batch = one < 0.004 ? std::min(4000, static_cast<int>(0.004 / std::max(one, 1e-7)) + 1) : 1;
  int const batches = static_cast<int>(std::clamp(budget / std::max(one * per_batch, 1e-6), 7.0, 200.0));
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    comm.barrier();
    double const start = bench::seconds_now();
    for (int i = 0; i < per_batch; ++i) operation(step++);
    times.push_back(slowest(bench::seconds_now() - start) / per_batch);
  }
  std::sort(times.begin(), times.end());
  auto const middle = times.size() / 2;
  return {times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2, batches, per_batch};
}

/// One operation of `bytes` in all, and a check that it does what it should.
struct Case {
  std::vector<float> in, out;
  std::function<void(int)> run;
  std::function<bool()> check;
};

std::unique_ptr<Case> make_case(Communicator& comm, std::string const& op, std::size_t bytes) {
  auto const ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
  std::size_t const count = bytes / sizeof(float), part = count / ranks;
  auto out = std::make_unique<Case>();
  auto& self = *out;
  auto const sum = static_cast<float>(ranks * (ranks + 1) / 2);
  auto const all_are = [](std::vector<float> const& data, float value) {
    return std::all_of(data.begin(), data.end(), [value](float one) { return one == value; });
  };
  if (op == "allreduce") {
    self.in.assign(count, static_cast<float>(own + 1));
    self.run = [&](int) { comm.all_reduce(std::span{self.in}); };
    self.check = [&self, all_are, sum] { return all_are(self.in, sum); };
  } else if (op == "allgather") {
    self.in.assign(part, static_cast<float>(own));
    self.out.assign(part * ranks, -1.0f);
    self.run = [&](int) { comm.all_gather(std::span<float const>{self.in}, std::span{self.out}); };
    self.check = [&self, part] {
      for (std::size_t i = 0; i < self.out.size(); ++i)
        if (self.out[i] != static_cast<float>(i / part)) return false;
      return true;
    };
  } else if (op == "reduce_scatter") {
    self.in.assign(part * ranks, static_cast<float>(own + 1));
    self.out.assign(part, 0.0f);
    self.run = [&](int) { comm.reduce_scatter(std::span<float const>{self.in}, std::span{self.out}); };
    self.check = [&self, all_are, sum] { return all_are(self.out, sum); };
  } else if (op == "broadcast") {
    self.in.assign(count, static_cast<float>(own));
    self.run = [&](int step) { comm.broadcast(std::span{self.in}, step % comm.size()); };
    self.check = [&self, all_are] { return all_are(self.in, 0.0f); };
  } else if (op == "barrier") {
    self.run = [&](int) { comm.barrier(); };
    self.check = [] { return true; };
  } else {
    throw std::invalid_argument(text("unknown operation: ", op));
  }
  return out;
}

void measure(Communicator& comm, Settings const& settings) {
  for (auto const bytes : settings.sizes) {
    auto const one = make_case(comm, settings.op, bytes);
    one->run(0);
    if (!one->check()) throw std::runtime_error(text(settings.op, " of ", bytes, " bytes is wrong"));
    std::fill(one->in.begin(), one->in.end(), 0.0f);
    auto const timing = time(comm, one->run, settings.seconds);
    bool const barrier = settings.op == "barrier";
    if (comm.rank() == 0) {
      auto const gigabytes = static_cast<double>(bytes) / timing.seconds / 1e9;
      bench::print_result(
          barrier ? text("coll/barrier/np", comm.size()) : text("coll/", settings.op, "/np", comm.size(), "/", bytes),
          timing.seconds * 1e6, "us", "low",
          text(barrier ? std::string{} : text("algbw_GBps=", gigabytes, " "), "batches=", timing.batches,
               " per_batch=", timing.per_batch, " engine=", comm.engine()));
    }
    if (barrier) break;
  }
  comm.barrier();
}

std::shared_ptr<Communicator> connect(Settings const& settings, int rank, std::string const& endpoint) {
  fleet::net::StoreClient const store{endpoint, {}, "coll_bench"};
  if (settings.engine == "shm") return fleet::comm::shm::connect({.rank = rank, .size = settings.np, .store = store});
  if (settings.engine == "tcp") return fleet::comm::tcp::connect({.rank = rank, .size = settings.np, .store = store});
  throw std::invalid_argument(text("unknown engine: ", settings.engine));
}

/// Runs `rank_main` and returns the status for the system.
int guarded(std::function<void()> const& rank_main) {
  try {
    rank_main();
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "coll_bench: %s\n", error.what());
    return 1;
  }
}

int in_processes(Settings const& settings) {
  int door[2];
  if (::pipe(door) != 0) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.np; ++rank) {  // before the store starts its threads
    auto const child = ::fork();
    if (child == 0) {
      ::close(door[1]);
      char endpoint[64] = "";
      if (::read(door[0], endpoint, sizeof endpoint) <= 0) ::_exit(1);
      ::_exit(guarded([&] { measure(*connect(settings, rank, endpoint), settings); }));
    }
    children.push_back(child);
  }
  fleet::net::StoreServer const store{"127.0.0.1:0", {}};
  char endpoint[64] = "";
  store.endpoint().copy(endpoint, sizeof endpoint - 1);
  for (std::size_t i = 0; i < children.size(); ++i)
    if (::write(door[1], endpoint, sizeof endpoint) != sizeof endpoint) return 1;
  int result = 0;
  for (auto const child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) result = 1;
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  int result = 1;
  int const failure = guarded([&] {
    auto const settings = parse(count, words);
    if (settings.engine == "local") {
      fleet::comm::local::run(settings.np, [&](Communicator& comm) { measure(comm, settings); });
      result = 0;
    } else {
      result = in_processes(settings);
    }
  });
  return failure != 0 ? failure : result;
}
