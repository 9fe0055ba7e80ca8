// MPI 5.0, 15.3.9: categories of variables.
#include "core/tool/category.h"

#include <algorithm>

#include "api/generated/calls.h"
#include "core/tool/text.h"

namespace meantime::api {
namespace {

/// nullptr if there is none.
const tool::Category* category_at(int index) {
  const std::vector<tool::Category>& all = tool::categories();
  return index >= 0 && static_cast<std::size_t>(index) < all.size()
             ? &all[static_cast<std::size_t>(index)]
             : nullptr;
}

/// The first `len` of a category's members.
int give_members(int cat_index, std::vector<int> tool::Category::*members, int len, int* indices) {
  const tool::Category* category = category_at(cat_index);
  if (category == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  if (len < 0) {
    return MPI_T_ERR_INVALID;
  }
  const std::vector<int>& all = category->*members;
  const auto room = static_cast<std::size_t>(len);
  if (room > 0 && indices == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  std::copy_n(all.begin(), std::min(all.size(), room), indices);
  return MPI_SUCCESS;
}

}  // namespace

int T_category_get_num(int* num_cat) {
  if (num_cat == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *num_cat = static_cast<int>(tool::categories().size());
  return MPI_SUCCESS;
}

int T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories) {
  const tool::Category* category = category_at(cat_index);
  if (category == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  tool::give_text(category->name, name, name_len);
  tool::give_text(category->description, desc, desc_len);
  tool::give(static_cast<int>(category->control_variables.size()), num_cvars);
  tool::give(static_cast<int>(category->performance_variables.size()), num_pvars);
  tool::give(static_cast<int>(category->categories.size()), num_categories);
  return MPI_SUCCESS;
}

int T_category_get_num_events(int cat_index, int* num_events) {
  if (category_at(cat_index) == nullptr) {
    return MPI_T_ERR_INVALID_INDEX;
  }
  if (num_events == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  tool::give(0, num_events);
  return MPI_SUCCESS;
}

int T_category_get_index(const char* name, int* cat_index) {
  if (name == nullptr || cat_index == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  for (int index = 0; const tool::Category* category = category_at(index); ++index) {
    if (category->name == name) {
      *cat_index = index;
      return MPI_SUCCESS;
    }
  }
  return MPI_T_ERR_INVALID_NAME;
}

int T_category_get_cvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, &tool::Category::control_variables, len, indices);
}

int T_category_get_pvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, &tool::Category::performance_variables, len, indices);
}

int T_category_get_categories(int cat_index, int len, int indices[]) {
  return give_members(cat_index, &tool::Category::categories, len, indices);
}

int T_category_get_events(int cat_index, int len, int* /*indices*/) {
  return category_at(cat_index) == nullptr ? MPI_T_ERR_INVALID_INDEX
         : len < 0                         ? MPI_T_ERR_INVALID
                                           : MPI_SUCCESS;
}

int T_category_changed(int* update_number) {
  if (update_number == nullptr) {
    return MPI_T_ERR_INVALID;
  }
  *update_number = 0;  // they never change
  return MPI_SUCCESS;
}

}  // namespace meantime::api
