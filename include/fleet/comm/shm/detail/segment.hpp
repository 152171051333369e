#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <fleet/comm/frame.hpp>
#include <fleet/comm/shm/detail/stream.hpp>
#include <fleet/core/config.hpp>
#include <fleet/core/descriptor.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::shm {

inline constexpr std::size_t depth = 4;  ///< chunks that a rank may have before the others at a time
inline constexpr std::size_t channel_depth = 2;
inline constexpr std::size_t inline_bytes = 32;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "fleet: shared memory needs atomics without locks");

/// What a rank has called, and the data of a call that is small enough: all in one cache line.
struct alignas(line) Header {
  std::atomic<std::uint32_t> sequence;  ///< of the call; written last
  std::uint32_t number;
  Operation operation;
  DType dtype;
  ReduceOp reduce;
  FrameKind kind;
  std::int32_t root;
  std::uint32_t tag;
  std::uint32_t filled;  ///< 1: the first chunk is there too
  std::uint64_t bytes;
  std::byte data[inline_bytes];
};
static_assert(sizeof(Header) == line);

/// Two headers, so that a call can be published while the one before is still read.
struct alignas(2 * line) Headers {
  Header of[2];
};

/// How many chunks a rank has put before the others, and how many it has worked off, in the life of the group.
struct Progress {
  alignas(2 * line) std::atomic<std::uint64_t> put;
  alignas(2 * line) std::atomic<std::uint64_t> done;
};

struct alignas(line) Refusal {
  std::atomic<std::uint64_t> number;
  char why[248];
};

/// What the others must know of a rank, apart from its calls.
struct alignas(line) Member {
  enum State : std::uint32_t { absent, here, left };

  std::atomic<std::uint32_t> state;
  std::atomic<std::int32_t> process;
  std::int32_t label;  ///< its rank in the group that this one was split from at first
  std::atomic<std::int32_t> waits_for;
  std::atomic<std::uint64_t> beats;  ///< grows while it waits
  std::atomic<std::uint32_t> refusals;

  // What it offers to those with whom it makes a group of some of the ranks, in the call of that number.
  std::atomic<std::uint64_t> offer;
  std::atomic<std::int32_t> descriptor;
  std::atomic<std::uint64_t> nonce;

  alignas(line) std::atomic<std::uint32_t> bell;  ///< what it sleeps on
  std::atomic<std::uint32_t> sleeping;

  std::array<Refusal, 4> refused;  ///< the last calls that it will not make
};

/// The way of pieces from one rank to another.
struct Channel {
  alignas(line) std::atomic<std::uint64_t> sent;
  alignas(line) std::atomic<std::uint64_t> taken;
};

struct alignas(line) Piece {
  Frame frame;
};

/// The first error of a group.
struct alignas(line) Failure {
  enum State : std::uint32_t { none, being_written, written };

  std::atomic<std::uint32_t> state;
  TransportError::Cause cause;
  std::int32_t guilty, partner;
  char reason[1000];
};

/// By which a rank that opens the memory knows it.
struct Identity {
  static constexpr std::uint64_t expected_magic = 0x314d48534c46u;  // "FLSHM1"; the last digit is the version

  std::uint64_t magic = 0, nonce = 0;
  std::int64_t size = 0;
  std::uint64_t chunk_bytes = 0;
};

struct alignas(line) Head {
  Identity identity;
  std::array<std::atomic<std::uint64_t>, 16> cores;  ///< those that any rank may run on, one bit each
  alignas(line) std::atomic<std::uint32_t> sleepers;
  Failure failure;
};

/// The memory that the ranks of a group share. What lies in it is trusted as far as the processes of one user trust
/// each other; nothing outside of it is written through it.
class Segment {
 public:
  struct Shape {
    int size = 1;
    std::size_t chunk_bytes = 0;  ///< a multiple of 64 and of the size
  };

  /// New memory, whose descriptor the others open. Throws ConfigurationError with the reason.
  FLEET_BODY static std::shared_ptr<Segment> create(Shape shape, std::span<int const> labels);
  /// What process `process` has made and offers under `descriptor`.
  FLEET_BODY static std::shared_ptr<Segment> open(int process, int descriptor, std::uint64_t nonce);
  FLEET_BODY ~Segment();
  Segment(Segment const&) = delete;
  Segment& operator=(Segment const&) = delete;

  int descriptor() const { return descriptor_.get(); }
  /// To be called once all ranks have opened it.
  void close_descriptor() { descriptor_.reset(); }

  int size() const { return shape_.size; }
  std::size_t chunk_bytes() const { return shape_.chunk_bytes; }
  /// What each rank reduces of a chunk that all ranks have put.
  std::size_t share_bytes() const { return shape_.chunk_bytes / ranks() / line * line; }
  std::size_t piece_bytes() const { return piece_bytes_; }

  Head& head() const { return *at<Head>(0); }
  Member& member(int rank) const { return at<Member>(members_)[rank]; }
  Header& header(int rank, std::uint32_t sequence) const { return at<Headers>(headers_)[rank].of[sequence % 2]; }
  Progress& progress(int rank) const { return at<Progress>(progress_)[rank]; }
  Channel& channel(int from, int to) const { return at<Channel>(channels_)[index(from, to)]; }

  std::byte* chunk(int rank, std::uint64_t tick) const {
    return memory_ + chunks_ + (static_cast<std::size_t>(rank) * depth + tick % depth) * chunk_stride();
  }
  std::byte* share(int rank, std::uint64_t tick) const {
    return memory_ + shares_ + (static_cast<std::size_t>(rank) * depth + tick % depth) * share_bytes();
  }
  Piece& piece(int from, int to, std::uint64_t number) const {
    auto const place = index(from, to) * channel_depth + number % channel_depth;
    return *at<Piece>(pieces_ + place * (sizeof(Piece) + piece_bytes_));
  }

  /// "rank 1", or in a split group "rank 1 (rank 3 of all)".
  FLEET_BODY std::string name(int rank) const;

 private:
  FLEET_BODY explicit Segment(Shape shape);
  FLEET_BODY void map(int descriptor);

  template <class T>
  T* at(std::size_t offset) const {
    static_assert(std::is_standard_layout_v<T>);
    return reinterpret_cast<T*>(memory_ + offset);
  }
  std::size_t ranks() const { return static_cast<std::size_t>(shape_.size); }
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * ranks() + static_cast<std::size_t>(to);
  }
  std::size_t chunk_stride() const { return shape_.chunk_bytes + line; }  // not all chunks in the same cache sets

  Shape shape_;
  std::size_t piece_bytes_;
  std::size_t members_, headers_, progress_, channels_, shares_, chunks_, pieces_, bytes_;
  Descriptor descriptor_;
  std::byte* memory_ = nullptr;
};

}  // namespace fleet::comm::shm

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/comm/shm/detail/segment_impl.hpp>  // IWYU pragma: export
#endif
