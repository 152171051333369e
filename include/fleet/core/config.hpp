#pragma once

#define FLEET_VERSION_MAJOR 0
#define FLEET_VERSION_MINOR 1
#define FLEET_VERSION_PATCH 0
#define FLEET_VERSION "0.1.0"

/// Marks a function whose body lies in an area's `detail/*_impl.hpp`: inline by default, compiled once into the
/// library `fleet_bodies` where FLEET_SEPARATE_BODIES is defined.
#ifdef FLEET_SEPARATE_BODIES
#define FLEET_BODY
#else
#define FLEET_BODY inline
#endif
