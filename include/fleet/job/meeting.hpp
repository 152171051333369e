#pragma once
#include <string>
#include <string_view>

#include <fleet/core/config.hpp>
#include <fleet/core/deadline.hpp>
#include <fleet/job/environment.hpp>
#include <fleet/job/role.hpp>

namespace fleet {

/// What the workers of one host tell each other through a file that only their user can read.
struct Meeting {
  std::string store;  ///< "host:port"
  std::string token;
};

/// The path of the meeting file of the job that `key` tells apart, in a folder of this user in TMPDIR or /tmp.
std::string meeting_path(Environment const& environment, std::string_view key);

/// Writes the file unless a living process has done so before; returns what it says then. Throws ConfigurationError
/// where the folder belongs to somebody else or cannot be written.
Meeting publish_meeting(std::string const& path, Meeting const& own);

/// Waits until the first worker has published. Files of processes that are gone are passed over. Throws
/// TransportError (silent) on expiry.
Meeting await_meeting(std::string const& path, Deadline deadline);

/// Removes the file if this process published it; the others have read it once all are connected.
void end_meeting(std::string const& path);

/// How the workers of a role without a launcher's store meet: at FLEET_STORE_ENDPOINT if it is set; by a file if all
/// are on one host; else at `default_store`, where the first worker opens the store. Several hosts need
/// FLEET_JOB_TOKEN. Throws ConfigurationError that says what to set.
void arrange_meeting(Role& role, Environment const& environment, bool one_host, std::string const& key,
                     std::string const& default_store);

}  // namespace fleet

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/job/detail/meeting_impl.hpp>  // IWYU pragma: export
#endif
