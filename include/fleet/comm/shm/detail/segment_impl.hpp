#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <fleet/comm/shm/detail/segment.hpp>
#include <fleet/core/error.hpp>
#include <fleet/core/system_reason.hpp>
#include <fleet/net/token.hpp>

namespace fleet::comm::shm {

FLEET_BODY Segment::Segment(Shape shape) : shape_(shape) {
  std::size_t const count = ranks(), pairs = count * count;
  piece_bytes_ =
      std::clamp<std::size_t>((std::size_t{4} << 20) / (channel_depth * count), 4096, std::size_t{64} << 10) / line *
      line;
  bytes_ = 0;
  auto const place = [this](std::size_t bytes, std::size_t alignment) {
    std::size_t const at = (bytes_ + alignment - 1) / alignment * alignment;
    bytes_ = at + bytes;
    return at;
  };
  constexpr std::size_t page = 4096;
  place(sizeof(Head), line);
  members_ = place(count * sizeof(Member), page);
  headers_ = place(count * sizeof(Headers), page);
  progress_ = place(count * sizeof(Progress), page);
  channels_ = place(pairs * sizeof(Channel), page);
  shares_ = place(count * depth * share_bytes(), page);
  chunks_ = place(count * depth * chunk_stride(), page);
  pieces_ = place(pairs * channel_depth * (sizeof(Piece) + piece_bytes_), page);
  bytes_ = (bytes_ + page - 1) / page * page;
}

FLEET_BODY Segment::~Segment() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

FLEET_BODY void Segment::map(int descriptor) {
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED)
    throw ConfigurationError(text("fleet: cannot map ", bytes_, " bytes of shared memory: ", system_reason(errno)));
  ::madvise(memory, bytes_, MADV_HUGEPAGE);  // where the system has them for shared memory
  memory_ = static_cast<std::byte*>(memory);
}

FLEET_BODY std::shared_ptr<Segment> Segment::create(Shape shape, std::span<int const> labels) {
  std::shared_ptr<Segment> segment{new Segment(shape)};
  Descriptor descriptor{::memfd_create("fleet", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!descriptor) throw ConfigurationError(text("fleet: cannot make shared memory: ", system_reason(errno)));
  if (::ftruncate(descriptor.get(), static_cast<off_t>(segment->bytes_)) != 0)
    throw ConfigurationError(
        text("fleet: cannot make ", segment->bytes_, " bytes of shared memory: ", system_reason(errno)));
  ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);  // so that no access can fail later
  segment->map(descriptor.get());
  segment->descriptor_ = std::move(descriptor);
  Identity identity{.size = shape.size, .chunk_bytes = shape.chunk_bytes};
  auto const random = net::random_bytes(sizeof identity.nonce);
  std::memcpy(&identity.nonce, random.data(), sizeof identity.nonce);
  for (int rank = 0; rank < shape.size; ++rank) {
    segment->member(rank).label = labels[static_cast<std::size_t>(rank)];
    segment->member(rank).waits_for = -1;
  }
  identity.magic = Identity::expected_magic;
  segment->head().identity = identity;
  return segment;
}

FLEET_BODY std::shared_ptr<Segment> Segment::open(int process, int descriptor, std::uint64_t nonce) {
  auto const path = text("/proc/", process, "/fd/", descriptor);
  Descriptor const opened{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (!opened)
    throw ConfigurationError(text("fleet: cannot open the memory that process ", process, " shares (", path,
                                  "): ", system_reason(errno), "; do the ranks run in one container and as one user?"));
  struct stat status {};
  Identity identity;
  bool const whole = ::fstat(opened.get(), &status) == 0 &&
                     ::pread(opened.get(), &identity, sizeof identity, 0) == sizeof identity &&
                     identity.magic == Identity::expected_magic && identity.nonce == nonce;
  std::shared_ptr<Segment> segment;
  if (whole) segment.reset(new Segment(Shape{static_cast<int>(identity.size), identity.chunk_bytes}));
  if (!whole || static_cast<std::size_t>(status.st_size) != segment->bytes_)
    throw ConfigurationError(text("fleet: ", path, " is not the memory of this group; do the ranks run in one ",
                                  "container, and with one version of the library?"));
  segment->map(opened.get());
  return segment;
}

FLEET_BODY std::string Segment::name(int rank) const {
  int const label = member(rank).label;
  return label == rank ? text("rank ", rank) : text("rank ", rank, " (rank ", label, " of all)");
}

}  // namespace fleet::comm::shm
