// What a user should know though the job goes on: one line, told once a job however many ranks have
// it to tell, and however often.
#pragma once

#include <string>
#include <string_view>

namespace meantime {
struct Rank;
}

namespace meantime::core {

/// `topic`: remarks of the same one are the same, whatever their words.
void remark(const Rank& rank, const std::string& topic, std::string_view line);

}  // namespace meantime::core
