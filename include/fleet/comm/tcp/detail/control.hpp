#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <fleet/comm/frame.hpp>
#include <fleet/core/error.hpp>

namespace fleet::comm::tcp {

/// What ranks tell each other beside the data, on a connection of its own.
enum class Notice : std::uint8_t {
  goodbye,  ///< the sender leaves in good order
  waiting,  ///< the sender is in `call` and waits for rank `guilty`; `asks`: and wants to hear the same of the others
  failed,   ///< the group is broken: `cause`, because of rank `guilty`, who is to name `partner`
  refused,  ///< the sender will not make the call of this number, as its arguments are wrong there
};

struct ControlHeader {
  static constexpr std::uint32_t expected_magic = 0x31434c46;  // "FLC1"

  std::uint32_t magic = expected_magic;
  Notice notice{};
  TransportError::Cause cause{};
  std::uint8_t asks = 0, unused = 0;
  std::int32_t guilty = -1, partner = -1;
  std::uint64_t length = 0;  ///< of the text that follows
  Frame call{};
};
static_assert(sizeof(ControlHeader) == 64 && std::is_trivially_copyable_v<ControlHeader>);

inline constexpr std::size_t longest_notice = 4096;

inline std::string encode(ControlHeader header, std::string_view text) {
  text = text.substr(0, longest_notice);
  header.length = text.size();
  std::string out(sizeof header, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  return out.append(text);
}

/// Takes the first whole notice off `bytes`. False where there is none yet; `sound` becomes false where the bytes are
/// no notices at all.
inline bool decode(std::string& bytes, int size, ControlHeader& header, std::string& text, bool& sound) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  auto const is_rank = [&](int rank) { return rank >= -1 && rank < size; };
  sound = header.magic == ControlHeader::expected_magic && header.notice <= Notice::refused &&
          header.cause <= TransportError::Cause::aborted && is_rank(header.guilty) && is_rank(header.partner) &&
          header.length <= longest_notice && plausible(header.call);
  if (!sound || bytes.size() < sizeof header + header.length) return false;
  text = bytes.substr(sizeof header, static_cast<std::size_t>(header.length));
  bytes.erase(0, sizeof header + static_cast<std::size_t>(header.length));
  return true;
}

}  // namespace fleet::comm::tcp
