#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fleet/core/text.hpp>
#include <fleet/net/token.hpp>

/// What client and server of the store say beside plain HTTP. The server's answers carry a challenge, random bytes of
/// its own start. A request carries one header of five words: the client's random name, a counter that only grows,
/// the challenge, the digest of the body, and the proof over these with method and path; so a recorded request is
/// worth nothing. The answer proves in turn that it comes from a holder of the token and belongs to this request.
namespace fleet::net::store_protocol {

constexpr char challenge_header[] = "Fleet-Challenge";
constexpr char proof_header[] = "Fleet-Proof";

struct Request {
  std::string client, counter, challenge, body, proof;

  /// Splits a header at its blanks; other than five words give empty ones.
  static Request parse(std::string_view header) {
    std::array<std::string, 5> words;
    std::size_t word = 0;
    for (char letter : header) {
      if (letter == ' ')
        ++word;
      else if (word < words.size())
        words[word] += letter;
    }
    if (word != words.size() - 1) return {};
    return {words[0], words[1], words[2], words[3], words[4]};
  }
  std::string header() const { return text(client, " ", counter, " ", challenge, " ", body, " ", proof); }

  std::string expected(Token const& token, std::string_view method, std::string_view path) const {
    return hex(view(token.proof({"store request", client, counter, challenge, body, method, path})));
  }
  bool proven(Token const& token, std::string_view method, std::string_view path) const {
    return same(proof, expected(token, method, path));
  }
};

inline std::string answer_proof(Token const& token, std::string_view request_proof, int status, std::string_view body) {
  return hex(view(token.proof({"store answer", request_proof, std::to_string(status), view(sha256(body))})));
}

}  // namespace fleet::net::store_protocol
