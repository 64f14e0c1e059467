// Places of the PJRT C API that every version since 0.55 has. tests/clients/pjrt_headers.py
// compares all with XLA's headers.
#include <gtest/gtest.h>

#include <cstddef>

#include "systole/pjrt_abi/struct_size.h"

namespace systole::pjrt_abi {
namespace {

TEST(PjrtAbi, PlacesFunctionsWherePluginsHaveThem) {
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Error_Destroy), 40);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_Create), 120);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_BufferFromHostBuffer), 216);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Memory_AddressableByDevices), 352);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_LoadedExecutable_Execute), 480);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Buffer_ToHostBuffer), 600);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Compile), 752);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_CreateViewOfDeviceBuffer), 784);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_DmaMap), 920);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_LoadedExecutable_GetDeviceAssignment), 976);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Device_GetAttributes), 1064);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds), 1136);
}

TEST(PjrtAbi, SizesEndWithTheLastField) {
  EXPECT_EQ(PJRT_Event_IsReady_Args_STRUCT_SIZE, 25);
  EXPECT_EQ(PJRT_Error_GetCode_Args_STRUCT_SIZE, 28);
  EXPECT_EQ(PJRT_Plugin_Initialize_Args_STRUCT_SIZE, 16);
  EXPECT_EQ(PJRT_NamedValue_STRUCT_SIZE, 56);
  EXPECT_EQ(PJRT_Client_Create_Args_STRUCT_SIZE, 88);
  EXPECT_EQ(PJRT_Api_STRUCT_SIZE, 1144);
}

TEST(PjrtAbi, PlacesFieldsOnTheHotPath) {
  EXPECT_EQ(offsetof(PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics), 72);
  EXPECT_EQ(offsetof(PJRT_Client_BufferFromHostBuffer_Args, buffer), 112);
  EXPECT_EQ(offsetof(PJRT_LoadedExecutable_Execute_Args, output_lists), 56);
  EXPECT_EQ(offsetof(PJRT_ExecuteOptions, non_donatable_input_indices), 56);
  EXPECT_EQ(offsetof(PJRT_ExecuteOptions, call_location), 80);
  EXPECT_EQ(offsetof(PJRT_NamedValue, string_value), 40);
  EXPECT_EQ(offsetof(PJRT_NamedValue, bool_value), 40);
  EXPECT_EQ(offsetof(PJRT_Buffer_MemoryLayout, type), 72);
  EXPECT_EQ(offsetof(PJRT_Error_FunctionTable, destroy), 24);
}

}  // namespace
}  // namespace systole::pjrt_abi
