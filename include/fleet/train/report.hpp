#pragma once
#include <string>

#include <fleet/core/text.hpp>
#include <fleet/core/type_name.hpp>
#include <fleet/train/archive.hpp>

namespace fleet {

/// What a trainer is composed of, line by line: workers and engine, strategy, optimizer, parameters, messages, and
/// what does not apply here, with the reason. Nothing is switched off without a line.
template <class Trainer>
std::string report_of(Trainer& trainer) {
  std::size_t elements = 0;
  for (auto const& parameter : trainer.parameters()) elements += parameter.value.size();
  auto const& job = trainer.job();
  std::string lines =
      text("workers     ", job.worker_num(), " (", job.source(), "), this is worker ", job.worker_index(), "\n");
  if (job.worker_num() > 1) lines += text("engine      ", trainer.workers().engine(), "\n");
  lines += text("strategy    ", trainer.strategy().text(), "\n");
  lines += text("optimizer   ", type_name<typename Trainer::Optimizer>(), "\n");
  lines += text("parameters  ", trainer.parameters().size(), " tensors, ", elements, " elements\n");
  if (auto const sent = trainer.reduction(); !sent.message_bytes.empty()) {
    lines += text("reduction   ", sent.message_bytes.size(), " messages a step of");
    for (auto bytes : sent.message_bytes) lines += text(" ", bytes);
    lines += text(" bytes; ", sent.messages, " messages, ", sent.bytes, " bytes so far\n");
  }
  for (auto const& note : trainer.notes()) lines += text("note        ", note, "\n");
  lines.pop_back();
  return lines;
}

}  // namespace fleet
