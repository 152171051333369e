#pragma once

// Names of policies, for rules in which one policy speaks of another: no policy includes another.
namespace fleet {

struct LARS;
struct LAMB;
struct DGC;
struct LocalSGD;
struct AdaptiveLocalSGD;
struct FuseAllReduce;
struct HierarchicalAllReduce;

}  // namespace fleet
