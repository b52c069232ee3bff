# A Cortex-M4 with its floating-point unit, and QEMU's board of one to run programs on.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(machine "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
set(CMAKE_C_FLAGS_INIT ${machine})
set(CMAKE_CXX_FLAGS_INIT ${machine})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -machine mps2-an386 -display none -monitor none
  -serial none -semihosting-config enable=on,target=native -kernel)
